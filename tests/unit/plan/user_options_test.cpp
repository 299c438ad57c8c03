// Options of sbatch by which a configuration replaces those of its pool.
#include <det/foundation/text.hpp>

#include <boost/test/unit_test.hpp>

#include "plan_support.hpp"

using namespace det;
using namespace det::plan;

namespace user_options_test {

/// Two partitions of GPU nodes of which some have the feature ib, and one of nodes without GPUs.
site::Site site_of(std::string const& file = "") {
    slurm::Partition gpu{"gpu", true, true, "REQUEUE", std::chrono::seconds(30), {}};
    gpu.nodes = {{4, 64, "idle", "gpu:a100:8", "a100,ib", "n[0-3]"},
                 {2, 64, "idle", "gpu:v100:4", "v100", "v[0-1]"}};
    gpu.time_max = "2-00:00:00";
    slurm::Partition spare{"spare", false, true, "OFF", {}, {{2, 64, "idle", "gpu:4", "ib", "s[0-1]"}}};
    spare.time_max = "1:00:00";
    slurm::Partition cpu{"cpu", false, true, "OFF", {}, {{2, 16, "idle", "(null)", "(null)", "c[0-1]"}}};
    return site::make_site({gpu, spare, cpu},
                           must(config::parse_site_file("version: 1\n" + file, "site.yaml")));
}

SubmissionPlan planned(std::string const& args, site::Site const& site, std::string const& pool = "") {
    auto text = "slurm: {gpu_type: a100, sbatch_args: [" + args + "]}\n";
    if (args.find("spare") != std::string::npos) text = "slurm: {sbatch_args: [" + args + "]}\n";
    if (!pool.empty()) text += "resources: {resource_pool: " + pool + "}\n";
    return must(plan_submission(config_of(text), site));
}

std::string refusal(std::string const& args, site::Site const& site, std::string const& pool = "") {
    auto text = "slurm: {gpu_type: a100, sbatch_args: [" + args + "]}\n";
    if (!pool.empty()) text += "resources: {resource_pool: " + pool + "}\n";
    return explain(must_fail(plan_submission(config_of(text), site)));
}

std::string options_of(SubmissionPlan const& plan) {
    auto options = plan::sbatch_command_line_options(plan, ExperimentLayout("/det/experiments/7"), "abc");
    std::erase_if(options, [](auto const& option) {
        return option.starts_with("--output=") || option.starts_with("--comment=") || option == "--chdir=/";
    });
    return join(options, " ");
}

bool has(std::string const& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace user_options_test
using namespace user_options_test;

BOOST_AUTO_TEST_SUITE(user_options_test)

BOOST_AUTO_TEST_CASE(without_a_site_file_a_partition_is_chosen_as_in_sbatch) {
    auto const plan = planned("-pspare", site_of());
    BOOST_TEST(plan.pool.name == "spare");
    BOOST_TEST(options_of(plan) == "--partition=spare");
    BOOST_TEST(plan.pool.slots_per_node == 4);
    auto const either = planned("'--partition=spare,gpu'", site_of());
    BOOST_TEST(options_of(either) == "--partition=spare,gpu");
    BOOST_TEST(has(refusal("-pnone", site_of()), "pool 'gpu' has --partition=gpu"));
    // The time limit that counts is that of the partition.
    BOOST_TEST(has(refusal("-pspare, -t120", site_of()), "partition 'spare' gives a job"));
}

BOOST_AUTO_TEST_CASE(a_partition_of_the_site_files_pools_is_replaced_only_where_it_says_so) {
    std::string const pools =
        "default_compute_pool: a100\npools: [{name: a100, partition: gpu, gpu_type: a100, qos: normal, "
        "slots_per_node: 4";
    auto const closed = site_of(pools + "}]\n");
    auto const text = refusal("--partition=spare", closed);
    BOOST_TEST(has(text, "--partition=spare: pool 'a100' has --partition=gpu"), text);
    BOOST_TEST(has(text, "set resources.resource_pool: spare"), text);
    BOOST_TEST(options_of(planned("-pgpu", closed)) == "--partition=gpu --qos=normal");
    auto const open = site_of(pools + ", user_options: [partition, qos]}]\n");
    auto const plan = planned("'-pspare', '--qos=idle', '--account=mine'", open);
    BOOST_TEST(plan.pool.name == "a100");
    BOOST_TEST(options_of(plan) == "--partition=spare --qos=idle --account=mine");
    BOOST_TEST(plan.nodes_max == 2);
    BOOST_TEST(has(refusal("--partition=other", open), "there is no partition 'other'"));
}

BOOST_AUTO_TEST_CASE(the_site_may_open_options_of_all_pools) {
    auto const site = site_of(
        "user_options: [reservation]\ndefault_compute_pool: a\n"
        "pools: [{name: a, partition: gpu, reservation: r, user_options: [qos], qos: q}]\n");
    BOOST_TEST(options_of(planned("'--reservation=mine', '-qhigh'", site)) ==
               "--partition=gpu --qos=high --reservation=mine");
}

BOOST_AUTO_TEST_CASE(a_constraint_of_the_user_narrows_that_of_the_pool) {
    auto const site = site_of("pools: [{name: gpu, constraint: a100}]\n");
    auto const plan = planned("--constraint=ib", site);
    BOOST_TEST(options_of(plan) == "--partition=gpu --constraint=a100&ib");
    BOOST_TEST(plan.nodes_max == 4);
    BOOST_TEST(has(refusal("'-Cib|v100'", site), "pool 'gpu' has --constraint=a100"));
    BOOST_TEST(has(refusal("-Cnone", site), "pool 'gpu' has no GPUs of type 'a100'"));
    // In a pool without a constraint only nodes with the user's features count.
    auto const narrowed = must(plan_submission(config_of("slurm: {sbatch_args: ['-Cv100']}\n"), site_of()));
    BOOST_TEST(narrowed.nodes_max == 2);
    BOOST_TEST(narrowed.pool.slots_per_node == 4);
}

BOOST_AUTO_TEST_CASE(a_time_limit_of_the_qos_is_refused_or_taken_as_the_default) {
    auto site = site_of("pools: [{name: gpu, user_options: [qos], limits: {time: '1-12:00:00'}}]\n");
    site::JobAccounting accounting;
    accounting.enforces_limits = true;
    accounting.user = "alice";
    accounting.rows =
        slurm::parse_accounting("ml|alice|||normal,high|normal||||||\n",
                                "normal||||||||1-00:00:00|0|||||\nhigh|||||||||0|||||\n", "alice|ml\n");
    site::apply_cluster_settings(site, slurm::ClusterConfig(), accounting);
    BOOST_TEST(planned("", site).time_limit == "1-00:00:00");
    BOOST_TEST(planned("-qhigh", site).time_limit == "1-12:00:00");
    auto const text = refusal("'--time=25:00:00'", site);
    BOOST_TEST(has(text, "--time=25:00:00 is more than the 1-00:00:00 that QOS 'normal' gives a job"), text);
    BOOST_TEST(has(text, "use --time=1-00:00:00, or another QOS or account"), text);
    BOOST_TEST(planned("'--time=25:00:00', -qhigh", site).time_limit == "");
}

BOOST_AUTO_TEST_CASE(jobs_start_first_after_a_node_failure_where_slurm_can) {
    auto const script_of_release = [](std::string const& release) {
        auto site = site_of();
        site::apply_cluster_settings(
            site,
            slurm::parse_cluster_config(
                "SlurmctldParameters = x,enable_expedited_requeue\nSLURM_VERSION = " + release + "\n"),
            {});
        return script_of(planned("", site));
    };
    BOOST_TEST(has(script_of(planned("", site_of())), "#SBATCH --requeue\n"));
    BOOST_TEST(has(script_of_release("24.11.5"), "#SBATCH --requeue\n"));
    BOOST_TEST(has(script_of_release("26.05.5"), "#SBATCH --requeue=expedite\n"));
}

BOOST_AUTO_TEST_SUITE_END()
