// How the user's slurm.sbatch_args and our own options go together.
#include <det/foundation/text.hpp>

#include <boost/test/unit_test.hpp>

#include "plan_support.hpp"

using namespace det;

namespace sbatch_args_test {

plan::SubmissionPlan plan_with(std::vector<std::string> const& args, std::string const& gres = "gpu:4") {
    slurm::Partition const compute{"compute", true, true,
                                   "OFF",     {},   {{2, 4, "idle", gres, "(null)", "n[0-1]"}}};
    std::string text = "resources: {slots_per_trial: 4}\nslurm:\n  sbatch_args:\n";
    for (auto const& arg : args) text += "    - '" + arg + "'\n";
    auto const config = plan::config_of(args.empty() ? "resources: {slots_per_trial: 4}\n" : text);
    return must(plan::plan_submission(config, site::make_site({compute})));
}

/// The options on sbatch's command line after det-submit's own.
std::string users_part(plan::SubmissionPlan const& plan) {
    auto options =
        plan::sbatch_command_line_options(plan, ExperimentLayout("/det/experiments/7"), "det:abc/7");
    options.erase(options.begin(), options.begin() + 4);
    return join(options, " ");
}

}  // namespace sbatch_args_test

BOOST_AUTO_TEST_SUITE(sbatch_args_test)

BOOST_AUTO_TEST_CASE(the_users_options_come_last_each_in_one_word) {
    auto const plan = plan_with({"-t", "10", "--account me", "--reservation", "mine", "--of-a-plugin"});
    BOOST_TEST(users_part(plan) == "--account=me --reservation=mine --time=10 --of-a-plugin");
    BOOST_TEST(plan::script_of(plan) == plan::script_of(plan_with({})));
}

BOOST_AUTO_TEST_CASE(who_asks_for_memory_does_not_get_all_of_it) {
    BOOST_TEST(plan::script_of(plan_with({})).find("#SBATCH --mem=0\n") != std::string::npos);
    for (auto const* arg : {"--mem=8G", "--mem 8G", "--mem-per-cpu=1G", "--mem-per-gpu=1G", "--mem-per-c=1G"})
        BOOST_TEST(plan::script_of(plan_with({arg})).find("--mem") == std::string::npos, arg);
}

BOOST_AUTO_TEST_CASE(a_priority_below_the_default_is_a_nice) {
    auto const nices = [](std::string const& config) {
        slurm::Partition cpus{"cpu", true, true, "OFF", {}, {{2, 4, "idle", "(null)"}}};
        auto const plan = must(plan::plan_submission(plan::config_of(config), site::make_site({cpus})));
        auto options = plan::sbatch_command_line_options(plan, ExperimentLayout("/det/experiments/7"), "abc");
        std::erase_if(options, [](auto const& option) { return !option.starts_with("--nice"); });
        return join(options, " ");
    };
    BOOST_TEST(nices("") == "");
    BOOST_TEST(nices("resources: {priority: 1}") == "");
    BOOST_TEST(nices("resources: {priority: 42}") == "");
    BOOST_TEST(nices("resources: {priority: 43}") == "--nice=2");
    BOOST_TEST(nices("resources: {priority: 99}") == "--nice=139");
    BOOST_TEST(nices("slurm: {nice: 7}\nresources: {priority: 99}") == "--nice=7");
    BOOST_TEST(nices("slurm: {nice: 0}\nresources: {priority: 99}") == "");
    BOOST_TEST(nices("slurm: {nice: 7, sbatch_args: [--nice=9]}") == "--nice=9");
    BOOST_TEST(nices("slurm: {sbatch_args: [--nice]}") == "--nice");
}

BOOST_AUTO_TEST_CASE(another_resource_does_not_take_the_gpus_away) {
    BOOST_TEST(users_part(plan_with({"--gres", "license:1"})) == "--gres=gpu:4,license:1");
    BOOST_TEST(users_part(plan_with({"--gres=license:1"}, "(null)")) == "--gres=license:1");
}

BOOST_AUTO_TEST_SUITE_END()
