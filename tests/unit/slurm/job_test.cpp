#include <det/foundation/files.hpp>
#include <det/slurm/experiment_comment.hpp>
#include <det/slurm/job.hpp>
#include <det/slurm/node.hpp>
#include <det/slurm/partition.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include "check_result.hpp"
#include "test_paths.hpp"

using namespace det;
using namespace det::slurm;

namespace job_test {

std::string recording(std::string const& name) {
    return must(read_file(det::test::source_path("tests/support/slurm-recordings/22.05/") + name));
}

}  // namespace job_test

BOOST_AUTO_TEST_SUITE(job_test)

BOOST_AUTO_TEST_CASE(a_task_of_an_array_is_named_with_its_index) {
    BOOST_TEST(to_string(JobRef{123, 4}) == "123_4");
    BOOST_TEST(to_string(JobRef{123, {}}) == "123");
    BOOST_TEST((parse_job_ref("123_4") == JobRef{123, 4}));
    BOOST_TEST((parse_job_ref("123_[0-3%2]") == JobRef{123, {}}));
    BOOST_TEST((parse_job_ref("123+1") == JobRef{123, {}}));
    for (auto const* text : {"", "_1", "x", "0", "1_", "1_x", "99999999999"}) {
        BOOST_TEST(!parse_job_ref(text).has_value(), text);
    }
}

BOOST_AUTO_TEST_CASE(a_job_runs_while_it_is_signalled) {
    BOOST_TEST((parse_job_state("SIGNALING") == JobState::running));
    BOOST_TEST((parse_job_state("RESIZING") == JobState::running));
    BOOST_TEST((parse_job_state("POWER_UP_NODE") == JobState::configuring));
    for (auto const* state : {"REQUEUE_FED", "RESV_DEL_HOLD", "EXPEDITING"})
        BOOST_TEST((parse_job_state(state) == JobState::pending), state);
    BOOST_TEST((parse_job_state("COMPLETING") == JobState::completing));
    BOOST_TEST((parse_job_state("A STATE OF THE FUTURE") == JobState::other));
}

BOOST_AUTO_TEST_CASE(node_states_are_classified) {
    auto const free_in = [](std::string const& state, int used = 0) {
        return Node{"n0", "compute", state, 8, used, "", ""}.is_free();
    };
    BOOST_TEST(free_in("idle"));
    BOOST_TEST(free_in("idle~"));  // switched off to save power: Slurm starts it
    BOOST_TEST(!free_in("mixed", 2));
    for (auto const* state :
         {"drained*", "idle+drain", "down", "maint", "drain~", "idle+planned", "reboot^"}) {
        BOOST_TEST_CONTEXT(state) {
            BOOST_TEST((Node{"n0", "compute", state, 8, 0, "", ""}.is_unavailable()) ==
                       (std::string_view(state) != "idle+planned"));
        }
    }
}

BOOST_AUTO_TEST_CASE(flags_of_a_complete_node_state_are_whole_words) {
    auto const node_in = [](std::string const& state) { return Node{"n0", "compute", state, 8, 0, "", ""}; };
    BOOST_TEST(node_in("idle+cloud+powered_down").is_free());  // powered down is not down
    BOOST_TEST(node_in("idle+powering_down").is_free());
    for (auto const* state : {"idle+maintenance", "idle+reboot_requested", "mixed+reboot_issued",
                              "idle+power_drain", "down+not_responding", "idle+invalid_reg"})
        BOOST_TEST(node_in(state).is_unavailable(), state);
    BOOST_TEST(node_in("down+not_responding").is_unresponsive());
    BOOST_TEST(node_in("down*").is_unresponsive());
    BOOST_TEST(!node_in("down").is_unresponsive());
    BOOST_TEST(!node_in("idle+cloud").is_unresponsive());
}

BOOST_AUTO_TEST_CASE(columns_of_sinfo_are_cut_by_bytes) {
    auto const row = [](std::string const& state, std::string const& reason = "none") {
        return fmt::format("{:128}{:128}{:64}{:48}{:256}{:256}{:256}\n", "n0", "compute", state, "4/12/0/16",
                           "", "", reason);
    };
    auto const nodes = must(parse_nodes(row("idle") + row("a|b\nc", "DIMM 3: ECC | replace")));
    BOOST_REQUIRE(nodes.size() == 2u);
    BOOST_TEST(nodes[0].state == "idle");
    BOOST_TEST(nodes[0].cpus == 16);
    BOOST_TEST(nodes[1].state == "a|b\nc");
    BOOST_TEST(nodes[0].reason.empty());
    BOOST_TEST(nodes[1].reason == "DIMM 3: ECC | replace");
    BOOST_TEST(!parse_nodes(row("idle") + "short\n").has_value());
}

BOOST_AUTO_TEST_CASE(gpus_per_node_are_counted_in_every_form_of_gres) {
    BOOST_TEST(parse_gpu_count("gres:gpu:4") == 4);  // of a job in Slurm 22.05
    BOOST_TEST(parse_gpu_count("gres/gpu:4") == 4);  // from 23.02 on
    BOOST_TEST(parse_gpu_count("gres/gpu:a:2,gres/gpu:b:1,gres/shard:8") == 3);
    BOOST_TEST(parse_gpu_count("gpu:tesla:8(S:0-1)") == 8);
    BOOST_TEST(parse_gpu_count("gpu") == 1);
    BOOST_TEST(parse_gpu_count("gpu:tesla") == 1);
    BOOST_TEST(parse_gpu_count("gpu:a:2,gpu:b:2,shard:16") == 4);
    BOOST_TEST(parse_gpu_count("(null)") == 0);
    BOOST_TEST(parse_gpu_count("craynetwork:1") == 0);
    BOOST_TEST(parse_gpu_count("N/A") == 0);
}

BOOST_AUTO_TEST_CASE(partitions_are_read_with_their_nodes) {
    auto const partitions = must(parse_partitions(recording("partitions.txt"), recording("sinfo.txt")));
    BOOST_REQUIRE(partitions.size() == 2u);
    BOOST_TEST(partitions[0].name == "compute");
    BOOST_TEST(partitions[0].is_default);
    BOOST_TEST(partitions[0].preempt_mode == "REQUEUE");
    BOOST_TEST(partitions[0].grace_time.count() == 30);
    BOOST_TEST(partitions[0].priority_tier == 1);
    BOOST_TEST(partitions[0].node_count() == 2);
    BOOST_TEST(parse_gpu_count(partitions[0].nodes.at(0).gres) == 4);
    BOOST_TEST(partitions[0].nodes.at(0).names == "n0");
    BOOST_TEST(partitions[0].nodes.at(0).features == "(null)");
    BOOST_TEST(!partitions[0].nodes_max);  // UNLIMITED
    BOOST_TEST(partitions[0].time_max == "UNLIMITED");
    BOOST_TEST(partitions[0].oversubscribe == "EXCLUSIVE");
    BOOST_TEST(!partitions[0].has_default_memory);
    BOOST_TEST(!partitions[0].memory_max.exists());
    BOOST_TEST(partitions[0].nodes.at(0).memory_mib == 4000);
    BOOST_TEST(partitions[1].priority_tier == 10);
    BOOST_TEST(!partitions[1].is_default);
    BOOST_TEST(!parse_partitions("PartitionName=a", "garbage").has_value());
    auto const small =
        must(parse_partitions("PartitionName=a MaxNodes=4 DefMemPerCPU=100 MaxTime=1-00:00:00", ""));
    BOOST_TEST(small[0].nodes_max.value() == 4);
    BOOST_TEST(small[0].has_default_memory);
    auto const limited =
        must(parse_partitions("PartitionName=a MaxMemPerNode=4000\nPartitionName=b MaxMemPerCPU=2000\n",
                              "a|2|8+|64000+|mixed|(null)|n[0-1]|gpu:4\n"));
    BOOST_TEST(limited[0].memory_max.per_node_mib.value() == 4000);
    BOOST_TEST(limited[1].memory_max.per_cpu_mib.value() == 2000);
    BOOST_TEST(!limited[1].memory_max.per_node_mib);
    BOOST_TEST(limited[0].nodes.at(0).memory_mib == 64'000);
    BOOST_TEST(limited[0].nodes.at(0).cpus == 8);
}

BOOST_AUTO_TEST_CASE(the_comment_of_an_experiments_job_names_its_root_and_its_number) {
    BOOST_TEST(render_experiment_comment("0a1b", 7) == "det:0a1b/7");
    auto const parsed = parse_experiment_comment("det:0a1b/7");
    BOOST_REQUIRE(parsed.has_value());
    BOOST_TEST(parsed->root_id == "0a1b");
    BOOST_TEST(parsed->experiment.value() == 7u);
    for (auto const* text : {"", "mine", "xdet:0a1b/7", "DET:0a1b/7"})
        BOOST_TEST(!parse_experiment_comment(text).has_value(), text);
    // Any user can write such a comment.
    for (auto const* text : {"det:", "det:/", "det:0a1b", "det:0a1b/", "det:0a1b/x", "det:0a1b/7/8"}) {
        auto const strange = parse_experiment_comment(text);
        BOOST_REQUIRE_MESSAGE(strange.has_value(), text);
        BOOST_TEST(!strange->experiment.has_value(), text);
    }
}

BOOST_AUTO_TEST_SUITE_END()
