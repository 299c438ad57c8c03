// What sbatch is asked for a user's batch script: its header wins.
#include <det/config/batch_script.hpp>
#include <det/foundation/text.hpp>

#include <boost/test/unit_test.hpp>

#include "golden.hpp"
#include "plan_support.hpp"

using namespace det;

namespace batch_script_test {

/// The plan of a script with this header and of a configuration above it.
Result<plan::SubmissionPlan, Diagnostics> plan_script(std::string const& header,
                                                      std::string const& above = "") {
    auto const script =
        must(config::read_batch_script("#!/bin/bash\n" + header + "python train.py\n",
                                       {"job.sbatch", "/home/me/job.sbatch", {}, "/home/me"}));
    auto const base = must(config::parse_layer(
        "checkpoint_storage: {type: shared_fs, host_path: /ck}\nreproducibility: {experiment_seed: 1}\n",
        "defaults"));
    auto const written = must(config::parse_layer(above, "--config"));
    DET_TRY_ASSIGN(auto const merged, config::merge_layers({{written}, {script.layer}, {base}}));
    DET_TRY_ASSIGN(auto const config, config::read_experiment_config(merged));
    slurm::Partition const cpu{"cpu", true, true, "OFF", {}, {{2, 4, "idle", "(null)", "(null)", "n[0-1]"}}};
    slurm::Partition const gpu{"gpu", false, true,
                               "OFF", {},    {{2, 4, "idle", "gpu:a100:4", "(null)", "g[0-1]"}}};
    DET_TRY_ASSIGN(auto plan, plan::plan_submission(config, site::make_site({cpu, gpu})));
    plan.batch_script->working_directory = "/home/me";
    return plan;
}

/// The #SBATCH lines, and the options of the command line.
std::string submission_of(std::string const& header, std::string const& above = "") {
    auto const plan = must(plan_script(header, above));
    auto input = plan::script_input();
    input.array.trial_count = plan.trial_count;
    bool const has_limit = plan.concurrent_trials_max < plan.trial_count || plan.trial_count == 1;
    input.array.running_max = has_limit ? plan.concurrent_trials_max : 0;
    auto const lines = must(plan::render_script("{{sbatch_options}} {{trial}}", plan, input));
    auto const options =
        plan::sbatch_command_line_options(plan, ExperimentLayout("/det/experiments/7"), "det:abc/7");
    return lines + "\n  " + join(options, " ") + "\n";
}

std::string shape_of(std::string const& header) {
    auto const plan = must(plan_script(header));
    return std::to_string(plan.shape.nodes) + "x" + std::to_string(plan.shape.slots_per_node) + " " +
           std::string(to_string(plan.shape.slot_type)) + " in " + plan.pool.name;
}

}  // namespace batch_script_test

BOOST_AUTO_TEST_SUITE(batch_script_test)

BOOST_AUTO_TEST_CASE(the_header_of_a_batch_script_wins) {
    check_golden(
        "plan/batch_script.txt",
        "an empty header\n" + submission_of("") + "all of a header, and a pool\n" +
            submission_of("#SBATCH -N 2 --ntasks-per-node=4 --gres=gpu:4 -p gpu,cpu -o log.txt -J train\n"
                          "#SBATCH --open-mode=truncate --propagate=NONE --export=NONE -D work -x g1\n"
                          "#SBATCH --nice=7 --exclusive=user --array=3,5-9:2%2\n",
                          "resources: {resource_pool: cpu}\nslurm: {nice: 5, sbatch_args: [--time=5]}\n") +
            "an array without a limit, in a pool\n" +
            submission_of("#SBATCH --array=1-3\n#SBATCH --output=%x-%8j.log\n",
                          "resources: {resource_pool: gpu}\n"));
}

BOOST_AUTO_TEST_CASE(the_shape_of_a_batch_script_is_what_its_header_asks_for) {
    BOOST_TEST(shape_of("") == "1x1 cpu in cpu");
    BOOST_TEST(shape_of("#SBATCH -N 2 --ntasks-per-node=4\n") == "2x4 cpu in cpu");
    BOOST_TEST(shape_of("#SBATCH -N 2-4 -n 6\n") == "2x3 cpu in cpu");
    BOOST_TEST(shape_of("#SBATCH -N 2 --gpus-per-node=a100:4 -p gpu,cpu\n") == "2x4 cuda in gpu");
    BOOST_TEST(shape_of("#SBATCH --gres=gpu:a100:2,nvme:1 -p gpu\n") == "1x2 cuda in gpu");
    BOOST_TEST(shape_of("#SBATCH -N 2 -G 8 -p gpu\n") == "2x4 cuda in gpu");
    BOOST_TEST(shape_of("#SBATCH --ntasks-per-node=2 --gpus-per-task=2 -p gpu\n") == "1x4 cuda in gpu");
    BOOST_TEST(shape_of("#SBATCH -p hidden\n") == "1x1 cpu in hidden");
}

BOOST_AUTO_TEST_CASE(each_task_of_a_scripts_array_is_a_trial) {
    auto const plan = must(plan_script("#SBATCH --array=1-9:4%2\n"));
    BOOST_TEST(plan.trial_count == 3u);
    BOOST_TEST(plan.concurrent_trials_max == 2u);
    BOOST_TEST(plan.batch_script->task_ids == (std::vector<std::uint32_t>{1, 5, 9}),
               boost::test_tools::per_element());
    auto const refused = must_fail(
        plan_script("#SBATCH --array=1-3\n", "hyperparameters: {lr: {type: categorical, vals: [1, 2]}}\n"));
    BOOST_TEST(explain(refused).find("has 3 tasks, and the search has 6 trials") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(files_of_a_script_without_an_array_have_the_names_that_slurm_gives_them) {
    auto const files = submission_of("#SBATCH -o %x-%A_%4a.out -e %%a-%a.err\n");
    BOOST_TEST(files.find("--output=%x-%A_4294967294.out --error=%%a-4294967294.err") != std::string::npos,
               files);
    auto const of_array = submission_of("#SBATCH -o %A_%a.out --array=1-2\n");
    BOOST_TEST(of_array.find("--output=%A_%a.out") != std::string::npos, of_array);
}

BOOST_AUTO_TEST_CASE(a_file_that_several_jobs_write_is_found) {
    auto const shared = [](std::string const& header) {
        return plan::shared_output_file(must(plan_script(header)).sbatch_args);
    };
    BOOST_TEST(shared("") == "");
    BOOST_TEST(shared("#SBATCH -o %x-%A_%a.out -e /dev/null\n") == "");
    BOOST_TEST(shared("#SBATCH -o %x.out\n") == "%x.out");
    BOOST_TEST(shared("#SBATCH -o %j.out -e errors\n") == "errors");
}

BOOST_AUTO_TEST_CASE(a_script_of_the_configuration_gets_the_nodes_of_its_slots) {
    slurm::Partition const cpu{"cpu", true, true, "OFF", {}, {{2, 4, "idle", "(null)", "(null)", "n[0-1]"}}};
    auto const config =
        plan::config_of("resources: {slots_per_trial: 8}\nslurm: {launch: script}\nentrypoint: ./job.sh\n");
    auto const plan = must(plan::plan_submission(config, site::make_site({cpu})));
    auto const script = plan::script_of(plan);
    BOOST_TEST(script.find("#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=4\n") != std::string::npos, script);
    BOOST_TEST(plan.lanes == 1u);
    auto const local = plan::config_of(
        "resources: {slots_per_trial: 8}\nslurm: {launch: script, working_directory: node-local}\n");
    BOOST_TEST(explain(must(plan::plan_submission(local, site::make_site({cpu}))).warnings)
                   .find("slurm.working_directory is shared") != std::string::npos);
    auto const warnings_of = [&](std::string const& slots) {
        auto const timed = plan::config_of("resources: {slots_per_trial: " + slots +
                                           "}\nslurm: {launch: script, idle_timeout: 30m}\n");
        return explain(must(plan::plan_submission(timed, site::make_site({cpu}))).warnings);
    };
    BOOST_TEST(warnings_of("8").find("slurm.idle_timeout has no effect") != std::string::npos);
    BOOST_TEST(warnings_of("4").find("slurm.idle_timeout") == std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
