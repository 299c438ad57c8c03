// The findings of `site check` about a cluster.
#include <det/site/check.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include "golden.hpp"
#include "site_support.hpp"

using namespace det;
using namespace det::site;

namespace check_test {

using Settings = slurm::ClusterConfig::Settings;

/// Settings about which `site check` has no findings.
Settings good_settings() {
    return {{"SLURM_VERSION", "22.05.8"},
            {"PreemptType", "preempt/partition_prio"},
            {"PreemptMode", "REQUEUE"},
            {"JobRequeue", "1"},
            {"MaxArraySize", "1001"},
            {"SelectType", "select/cons_tres"},
            {"SelectTypeParameters", "CR_CPU_MEMORY"},
            {"ProctrackType", "proctrack/cgroup"},
            {"SchedulerParameters", "bf_interval=1,enable_user_top"},
            {"KillWait", "30 sec"}};
}

PluginFacts good_plugin() {
    PluginFacts facts;
    facts.plugstack = "/etc/slurm/plugstack.conf";
    facts.line =
        PlugstackLine{"optional", "/opt/det/lib/slurm/spank_det.so", {"wrapper=/opt/det/bin/det-wrap-rank"}};
    facts.is_object_there = facts.is_wrapper_there = true;
    facts.built_for = 0x160500;
    return facts;
}

std::string text_of(std::vector<Finding> const& findings) {
    std::string text;
    for (auto const& each : findings) {
        text += fmt::format("{} {}: {}\n  {}\n  {}: {}\n",
                            each.severity == Finding::Severity::change ? "change" : "note", each.subject,
                            each.what, each.why, each.file, each.change);
    }
    return text;
}

std::string check(std::string const& file, std::vector<slurm::Partition> const& partitions, Settings settings,
                  PluginFacts const& plugin = good_plugin()) {
    return text_of(check_site(file_of(file), partitions, slurm::ClusterConfig(std::move(settings)), plugin));
}

bool has(std::string const& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace check_test

BOOST_AUTO_TEST_SUITE(check_test)

BOOST_AUTO_TEST_CASE(a_good_cluster_has_nothing_to_change) {
    BOOST_TEST(check("", two_partitions(), good_settings()) == "");
}

BOOST_AUTO_TEST_CASE(what_pools_lack_is_said_with_the_line_to_change) {
    auto partitions = two_partitions();
    partitions[0].grace_time = std::chrono::seconds(0);
    partitions[0].nodes_max = 2;
    partitions[1].preempt_mode = "GANG,SUSPEND";
    partitions[1].oversubscribe = "FORCE:4";
    partitions.push_back({"empty", false, true, "OFF", {}, {}});
    check_golden("site/pools.txt",
                 check("default_compute_pool: nope\n"
                       "pools:\n"
                       "  - {name: a, partition: computer}\n"
                       "  - {name: b, partition: empty}\n"
                       "  - {name: compute, grace_time: 120, slots_per_node: 8, whole_memory: false,\n"
                       "     limits: {nodes_per_trial: 3}}\n"
                       "  - {name: d, partition: compute, constraint: ib}\n"
                       "  - {name: e, partition: cpu, slot_type: cuda, slots_per_node: 4}\n",
                       partitions, good_settings()));
}

BOOST_AUTO_TEST_CASE(a_memory_limit_below_a_nodes_memory_is_told) {
    auto partitions = two_partitions();
    partitions[0].nodes[0].memory_mib = 64'000;
    auto settings = good_settings();
    settings["MaxMemPerNode"] = "64000";
    BOOST_TEST(check("", partitions, settings) == "");
    settings["MaxMemPerNode"] = "63999";
    auto const text = check("", partitions, settings);
    BOOST_TEST(
        has(text, "note pool 'compute': MaxMemPerNode gives a job 63999 MiB of the 64000 MiB of a node"),
        text);
    partitions[0].memory_max.per_cpu_mib = 4000;
    BOOST_TEST(has(check("", partitions, settings), "MaxMemPerCPU gives a job 32000 MiB"));
    BOOST_TEST(
        check("pools: [{name: compute, whole_memory: false}]\n", partitions, settings).find("gives a job") ==
        std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_pool_cannot_share_the_nodes_of_an_exclusive_partition) {
    auto partitions = two_partitions();
    partitions[0].oversubscribe = "EXCLUSIVE";
    BOOST_TEST(check("", partitions, good_settings()) == "");
    auto const text = check("pools: [{name: compute, exclusive: false}]\n", partitions, good_settings());
    BOOST_TEST(has(text, "change pool 'compute': exclusive is false, and OverSubscribe is EXCLUSIVE"), text);
    partitions[0].oversubscribe = "FORCE:4";
    BOOST_TEST(check("pools: [{name: compute, exclusive: false}]\n", partitions, good_settings()) == "");
}

BOOST_AUTO_TEST_CASE(what_slurm_lacks_is_said_with_the_line_to_change) {
    auto settings = good_settings();
    settings["PreemptMode"] = "GANG,SUSPEND";
    settings["PreemptType"] = "preempt/qos";
    settings["AccountingStorageType"] = "accounting_storage/none";
    settings["JobRequeue"] = "0";
    settings["MaxArraySize"] = "101";
    settings["SelectType"] = "select/linear";
    settings["ProctrackType"] = "proctrack/linuxproc";
    settings["SchedulerParameters"] = "";
    settings["PriorityType"] = "priority/basic";
    settings["TrackWCKey"] = "No";
    check_golden("site/settings.txt",
                 check("scheduler: fair_share\njob_project_source: project\n", two_partitions(), settings));
}

BOOST_AUTO_TEST_CASE(a_plugin_of_another_release_is_told) {
    auto facts = good_plugin();
    facts.built_for = 0x170b04;
    auto const text = check("", two_partitions(), good_settings(), facts);
    BOOST_TEST(has(text, "was built for Slurm 23.11, this is 22.05"), text);
    BOOST_TEST(has(text, "change the plugin"), text);
    facts.built_for = std::nullopt;
    BOOST_TEST(
        has(check("", two_partitions(), good_settings(), facts), "note the plugin: '/opt/det/lib/slurm"));
    facts = {};
    BOOST_TEST(has(check("", two_partitions(), good_settings(), facts), "names no spank_det.so"));
    facts.why_unknown = "permission denied";
    BOOST_TEST(
        has(check("", two_partitions(), good_settings(), facts), "can't be read here: permission denied"));
}

BOOST_AUTO_TEST_CASE(a_plugin_that_could_stop_all_jobs_is_told) {
    auto facts = good_plugin();
    facts.line->kind = "required";
    facts.line->arguments.clear();
    auto const text = check("", two_partitions(), good_settings(), facts);
    BOOST_TEST(has(text, "would stop all jobs"), text);
    BOOST_TEST(has(text, "names no wrapper"), text);
}

BOOST_AUTO_TEST_CASE(slots_of_hidden_nodes_are_findings_until_the_site_file_states_them) {
    auto partitions = two_partitions();
    partitions.resize(1);
    partitions[0].has_node_facts = false;
    partitions[0].nodes = {{4, 64, "idle", "(null)", "(null)", "n[0-3]"}};
    auto settings = good_settings();
    settings["GresTypes"] = "gpu";
    auto const name = partitions[0].name;
    auto const text = check("", partitions, settings);
    BOOST_TEST(
        has(text, fmt::format("change pool '{}': PrivateData=nodes hides its nodes, and the partition does "
                              "not count their GPUs",
                              name)),
        text);
    auto const stated = fmt::format("pools: [{{name: {}, slot_type: cuda, slots_per_node: 4}}]\n", name);
    auto const quiet = check(stated, partitions, settings);
    BOOST_TEST(!has(quiet, "hides its nodes"), quiet);
    partitions[0].nodes[0].gres = "gpu:a100:4";
    settings["AccountingStorageTRES"] = "cpu,gres/gpu";
    auto const average = check("", partitions, settings);
    BOOST_TEST(has(average, "hides its nodes: 4 GPUs a node is their average"), average);
    BOOST_TEST(!has(check(stated, partitions, settings), "hides its nodes"));
}

BOOST_AUTO_TEST_CASE(plugstack_lines_are_read_as_slurm_reads_them) {
    auto const lines = parse_plugstack(
        "# comment\n\n  optional\t/a/spank_det.so wrapper=/w x=1 # here\nrequired\n"
        "include /etc/slurm/plugstack.d/*\n");
    BOOST_REQUIRE(lines.size() == 2u);
    BOOST_TEST(lines[0].is_det_plugin());
    BOOST_TEST(*lines[0].find_argument("wrapper") == "/w");
    BOOST_TEST(!lines[0].find_argument("wrap"));
    BOOST_TEST(lines[1].kind == "include");
    BOOST_TEST(!lines[1].is_det_plugin());
}

BOOST_AUTO_TEST_CASE(releases_are_compared_by_their_first_two_numbers) {
    BOOST_TEST(release_of(0x160508u) == "22.05");
    BOOST_TEST(release_of(0x170b00u) == "23.11");
    BOOST_TEST(release_of("22.05.8") == "22.05");
    BOOST_TEST(release_of("25.11.0-0rc1") == "25.11");
}

BOOST_AUTO_TEST_CASE(what_is_no_plugin_says_no_version) {
    BOOST_TEST(!find_plugin_version(""));
    BOOST_TEST(
        !find_plugin_version("\x7f"
                             "ELF"));
    BOOST_TEST(!find_plugin_version(std::string(4096, '\xff')));
    std::string header =
        "\x7f"
        "ELF\x02\x01\x01" +
        std::string(57, '\xff');
    BOOST_TEST(!find_plugin_version(header));
}

BOOST_AUTO_TEST_SUITE_END()
