#include <det/foundation/files.hpp>
#include <det/foundation/process.hpp>
#include <det/foundation/text.hpp>

#include <boost/test/unit_test.hpp>

#include "golden.hpp"
#include "plan_support.hpp"
#include "temporary_directory.hpp"
#include "test_paths.hpp"

using namespace det;
using namespace det::plan;

namespace plan_test {

/// Four nodes of four GPUs, the default, and two without any.
site::Site small_site() {
    slurm::Partition gpus{
        "compute", true, true, "REQUEUE", std::chrono::seconds(30), {{4, 8, "idle", "gpu:4"}}};
    slurm::Partition cpus{"cpu", false, true, "OFF", {}, {{2, 16, "idle", "(null)"}}};
    return site::make_site({gpus, cpus});
}

std::string refusal(config::ExperimentConfig const& config) {
    return explain(must_fail(plan_submission(config, small_site())));
}

std::string refusal(int slots) { return refusal(with_slots(slots)); }

plan::ScriptInput input_named(std::string name) {
    return {{7}, std::move(name), "/shared/det/experiments/7", "/opt/det/bin/det-launch"};
}

std::string job_template() { return must(read_file(det::test::source_path("templates/job/trial.sbatch"))); }

}  // namespace plan_test

BOOST_AUTO_TEST_SUITE(plan_test)

BOOST_AUTO_TEST_CASE(slots_become_whole_nodes) {
    struct Row {
        int slots, nodes, per_node;
    };
    for (auto const& row :
         std::initializer_list<Row>{{1, 1, 1}, {3, 1, 3}, {4, 1, 4}, {8, 2, 4}, {16, 4, 4}}) {
        auto const plan = must(plan_submission(with_slots(row.slots), small_site()));
        BOOST_TEST(plan.shape.nodes == row.nodes, row.slots);
        BOOST_TEST(plan.shape.slots_per_node == row.per_node, row.slots);
        BOOST_TEST((plan.shape.slot_type == SlotType::cuda));
    }
    auto const none = must(plan_submission(with_slots(0), small_site()));
    BOOST_TEST(none.shape.ranks() == 1);
    BOOST_TEST((none.shape.slot_type == SlotType::cpu));
}

BOOST_AUTO_TEST_CASE(an_elastic_trial_asks_for_a_range_of_nodes) {
    auto const elastic = [](std::string const& slots) {
        return config_of("resources: {slots_per_trial: " + slots + "}\n");
    };
    auto const plan = must(plan_submission(elastic("{min: 4, max: 16}"), small_site()));
    BOOST_TEST(plan.is_elastic());
    BOOST_TEST(plan.nodes_min == 1);
    BOOST_TEST(plan.shape.nodes == 4);
    BOOST_TEST(plan.shape.slots_per_node == 4);
    auto const script = script_of(plan);
    BOOST_TEST(script.find("#SBATCH --nodes=1-4\n") != std::string::npos, script);
    // With a number of tasks Slurm would give the fewest nodes.
    BOOST_TEST(script.find("--ntasks") == std::string::npos, script);
    auto const spare = must(plan_submission(
        config_of("resources: {slots_per_trial: {min: 8, max: 12}}\nslurm: {spare_nodes: 1}\n"),
        small_site()));
    BOOST_TEST(script_of(spare).find("#SBATCH --nodes=3-4\n") != std::string::npos);
    // A range of one size is no range.
    auto const one = must(plan_submission(elastic("{min: 8, max: 8}"), small_site()));
    BOOST_TEST(!one.is_elastic());
    BOOST_TEST(script_of(one).find("#SBATCH --nodes=2\n") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(ranges_of_slots_that_do_not_fit_are_refused_with_what_fits) {
    std::string text;
    for (auto const* slots :
         {"{min: 2, max: 8}", "{min: 4, max: 10}", "{min: 4, max: 64}", "{min: 1, max: 2}"})
        text += refusal(config_of("resources: {slots_per_trial: " + std::string(slots) + "}\n"));
    text += refusal(config_of(
        "resources: {slots_per_trial: {min: 4, max: 8}}\nslurm: {launch: script}\nentrypoint: ./job.sh\n"));
    text += refusal(config_of("resources: {slots_per_trial: {min: 4, max: 8}, is_single_node: true}\n"));
    check_golden("plan/elastic_refusals.txt", text);
}

BOOST_AUTO_TEST_CASE(min_time_is_the_shortest_time_limit) {
    auto const plan = must(plan_submission(
        config_of("slurm: {min_time: '30:00', sbatch_args: ['--time=4:00:00']}\n"), small_site()));
    auto const options = plan::sbatch_command_line_options(plan, {RootLayout("/det"), {7}}, "x");
    BOOST_TEST((std::ranges::find(options, "--time-min=30:00") != options.end()));
    check_golden("plan/min_time_too_long.txt",
                 refusal(config_of("slurm: {min_time: '5:00:00', sbatch_args: ['--time=4:00:00']}\n")));
}

BOOST_AUTO_TEST_CASE(six_slots_on_nodes_of_four_are_refused_with_the_numbers) {
    check_golden("plan/six_slots.txt", refusal(6));
    BOOST_TEST(plan_submission(with_slots(12), small_site()).has_value());
}

BOOST_AUTO_TEST_CASE(more_nodes_than_there_are_is_refused_with_what_fits) {
    check_golden("plan/too_many_nodes.txt", refusal(20));
    BOOST_TEST(refusal(18).find("use 16") != std::string::npos, refusal(18));
}

BOOST_AUTO_TEST_CASE(a_pool_of_cpus_has_a_slot_per_cpu) {
    auto const plan = must(
        plan_submission(config_of("resources: {slots_per_trial: 32, resource_pool: cpu}"), small_site()));
    BOOST_TEST(plan.shape.nodes == 2);
    BOOST_TEST((plan.shape.slot_type == SlotType::cpu));
}

BOOST_AUTO_TEST_CASE(a_pool_whose_gpus_slurm_hides_is_a_warning_with_what_to_state) {
    auto site = small_site();
    auto const config = config_of("resources: {slots_per_trial: 32, resource_pool: cpu}");
    auto const is_warned = [&] {
        auto const text = explain(must(plan_submission(config, site)).warnings);
        return text.find("PrivateData=nodes") != std::string::npos &&
               text.find("pools: [{name: cpu, slot_type: cuda, slots_per_node: GPUs of a node}]") !=
                   std::string::npos;
    };
    BOOST_TEST(!is_warned());
    for (auto& pool : site.pools) pool.may_have_hidden_gpus = pool.name == "cpu";
    BOOST_TEST(is_warned());
}

BOOST_AUTO_TEST_CASE(a_pool_that_does_not_exist_is_named_with_its_place) {
    auto const text = explain(
        must_fail(plan_submission(config_of("resources:\n  resource_pool: computer\n"), small_site())));
    check_golden("plan/no_such_pool.txt", text);
}

BOOST_AUTO_TEST_CASE(what_can_not_be_run_yet_is_said_all_at_once) {
    auto const text = explain(must_fail(plan_submission(
        config_of("hyperparameters: {lr: {type: double, minval: -1.7e308, maxval: 1.7e308}}\n"
                  "checkpoint_storage: {type: gcs, bucket: b}\nresources: {slots_per_trial: 6}\n"),
        small_site())));
    BOOST_TEST(text.find("hyperparameters.lr: the range") != std::string::npos, text);
    BOOST_TEST(text.find("checkpoint storage 'gcs'") != std::string::npos, text);
    BOOST_TEST(text.find("6 slots") != std::string::npos, text);
}

BOOST_AUTO_TEST_CASE(a_bucket_has_both_of_its_keys_or_none) {
    auto const with = [](std::string const& keys) {
        return plan_submission(config_of("checkpoint_storage: {type: s3, bucket: b" + keys +
                                         "}\nresources: {slots_per_trial: 4}\n"),
                               small_site());
    };
    must(with(""));
    must(with(", access_key: hunter1, secret_key: hunter2"));
    auto const text = explain(must_fail(with(", access_key: hunter1")));
    BOOST_TEST(text.find("access_key and secret_key belong together") != std::string::npos, text);
    BOOST_TEST(text.find("hunter1") == std::string::npos, text);
}

BOOST_AUTO_TEST_CASE(interpreters_that_would_not_be_used_are_a_warning) {
    slurm::Partition const cpu{"cpu", true, true, "OFF", {}, {{2, 4, "idle", "(null)", "(null)", "n[0-1]"}}};
    auto const warnings_of = [&](std::string const& keys) {
        auto const config = config_of("resources: {slots_per_trial: 8}\nslurm: {" + keys + "}\n");
        return explain(must(plan_submission(config, site::make_site({cpu}))).warnings);
    };
    BOOST_TEST(warnings_of("warm_start: true").find("warm_start") == std::string::npos);
    BOOST_TEST(warnings_of("warm_start: true, forward_signals: [USR1]")
                   .find("slurm.warm_start has no effect: slurm.forward_signals is set") !=
               std::string::npos);
    BOOST_TEST(warnings_of("warm_start: false, forward_signals: [USR1]").find("warm_start") ==
               std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_directory_for_checkpoints_has_one_name_inside_and_outside_of_a_container) {
    auto const with = [](std::string const& mounts) {
        return plan_submission(config_of("checkpoint_storage: {type: directory, container_path: /data/ck}\n"
                                         "bind_mounts: [" +
                                         mounts + "]\nresources: {slots_per_trial: 4}\n"),
                               small_site());
    };
    must(with(""));
    must(with("{host_path: /data, container_path: /data}"));
    must(with("{host_path: /fast, container_path: /dat}"));
    auto const text = explain(must_fail(with("{host_path: /fast, container_path: /data}")));
    BOOST_TEST(text.find("use 'type: shared_fs' with 'host_path: /fast'") != std::string::npos, text);
}

BOOST_AUTO_TEST_CASE(pools_are_what_most_nodes_of_a_partition_are) {
    slurm::Partition mixed{"mixed", false, true,
                           "OFF",   {},    {{2, 8, "idle", "gpu:2"}, {6, 64, "idle", "gpu:a100:8"}}};
    auto const site = site::make_site({mixed, {"empty", true, true, "OFF", {}, {}}});
    BOOST_TEST(site.pools.size() == 1u);
    BOOST_TEST(site.pools[0].slots_per_node == 8);
    BOOST_TEST(site.pools[0].node_count == 6);
    BOOST_TEST((must_fail(site::require_pool(site, {})).code == codes::no_such_pool));
}

BOOST_AUTO_TEST_CASE(the_script_is_one_that_a_person_can_read) {
    auto const plan = must(plan_submission(with_slots(8), small_site()));
    check_golden("plan/trial.sbatch", must(plan::render_script(job_template(), plan, input_named("digits"))));
}

BOOST_AUTO_TEST_CASE(no_text_of_a_user_is_run_by_a_shell_or_read_by_sbatch) {
    auto const plan = must(plan_submission(with_slots(8), small_site()));
    TemporaryDirectory directory;
    must(write_file(directory / "det-batch", "#!/bin/sh\nshift\nexec echo \"$@\"\n", 0755));
    for (std::string const evil : {"x\n#SBATCH --uid=0\ntouch PWNED", "$(touch PWNED)", "`touch PWNED`",
                                   "'; touch PWNED; '", "\r\ntouch PWNED", "a\"b", "{{det_launch}}"}) {
        auto input = input_named(evil);
        input.experiment_path = directory.path() / evil;
        input.det_launch = directory / "det-launch";
        auto const script = must(plan::render_script(job_template(), plan, input));
        must(write_file(directory / "script", script));
        SystemProcessRunner runner;
        auto environment = Environment::of_this_process();
        environment.set("SLURM_ARRAY_TASK_ID", "0");
        auto const output = must(runner.run(
            {{"/bin/bash", "-c", "cd \"$0\" && exec bash ./script", directory.path()}, environment}));
        BOOST_TEST(output.out == "trial --experiment " + input.experiment_path.string() + " --trial 0\n");
        BOOST_TEST(!path_exists(directory / "PWNED"), evil);
        int sbatch_lines = 0;
        for (auto const line : split_lines(script)) {
            if (!line.empty() && line[0] != '#') break;  // sbatch reads no further either
            sbatch_lines += line.starts_with("#SBATCH") ? 1 : 0;
        }
        BOOST_TEST(sbatch_lines == 10);
    }
}

BOOST_AUTO_TEST_CASE(the_users_text_stands_on_the_command_line) {
    auto const plan = must(
        plan_submission(config_of("slurm: {sbatch_args: ['--reservation=mine', '--time=5']}"), small_site()));
    auto const options =
        plan::sbatch_command_line_options(plan, ExperimentLayout("/shared/det/experiments/7"), "det:abc/7");
    BOOST_TEST(join(options, "\n") ==
               "--partition=compute\n--output=/shared/det/experiments/7/slurm-%A_%a.out\n"
               "--comment=det:abc/7\n--chdir=/\n--reservation=mine\n--time=5");
}

BOOST_AUTO_TEST_CASE(a_template_that_asks_for_what_is_not_there_is_refused) {
    auto const plan = must(plan_submission(with_slots(1), small_site()));
    BOOST_TEST(!plan::render_script("{{nonsense}}", plan, input_named("x")).has_value());
    BOOST_TEST(!plan::render_script("{{det_launch", plan, input_named("x")).has_value());
}

BOOST_AUTO_TEST_CASE(a_port_that_a_user_may_not_use_is_a_warning) {
    auto const warnings = [](std::string const& port) {
        auto const config =
            config_of("environment: {ports: {http: " + port + "}}\nslurm: {exclusive: true}\n");
        return explain(must(plan_submission(config, small_site())).warnings);
    };
    for (auto const* port : {"1024", "65535"}) BOOST_TEST(warnings(port) == "", port);
    for (auto const* port : {"1023", "65536", "-1"})
        BOOST_TEST(warnings(port).find("environment.ports.http has no effect") != std::string::npos, port);
}

BOOST_AUTO_TEST_CASE(a_log_policy_that_matches_nothing_is_a_warning) {
    auto const warnings = [](std::string const& policies) {
        return explain(
            must(plan_submission(config_of("log_policies: " + policies + "\nslurm: {exclusive: true}\n"),
                                 small_site()))
                .warnings);
    };
    BOOST_TEST(
        warnings("[{name: CUDA OOM}, {name: ECC Error, action: exclude_node}, {name: a, pattern: b}]") == "");
    auto const text = warnings("[{name: mine, action: cancel_retries}]");
    BOOST_TEST(text.find("the log policy 'mine' has no effect: it has no pattern") != std::string::npos,
               text);
}

BOOST_AUTO_TEST_SUITE_END()
