#include "config_support.hpp"
#include "golden.hpp"

using namespace det;
using namespace det::config;

BOOST_AUTO_TEST_SUITE(read_test)

BOOST_AUTO_TEST_CASE(what_is_not_written_has_its_documented_default) {
    auto const config = read(essentials);
    check_golden("config/defaults.json", yaml::to_json(config.effective).dump(2) + "\n");
    check_golden("config/defaults.yaml", yaml::render_yaml(config.effective));
    BOOST_TEST(config.max_restarts == 5);
    BOOST_TEST(config.scheduling_unit == 100);
    BOOST_TEST(config.resources.slots_per_trial == 1);
    BOOST_TEST((config.checkpoint_policy == CheckpointPolicy::best));
    BOOST_TEST((config.slurm.launch == Launch::node));
    BOOST_TEST(config.slurm.mpi == "none");
    BOOST_TEST(!config.reproducibility.experiment_seed);
}

BOOST_AUTO_TEST_CASE(integers_may_have_underscores_an_exponent_or_a_zero_fraction) {
    auto const config = read_with(
        "records_per_epoch: 50_000\nmax_restarts: 1e1\nscheduling_unit: 7.0\n"
        "searcher: {name: random, metric: loss, max_trials: 1e3, max_length: {batches: 1_000_000}}\n"
        "hyperparameters: {layers: {type: int, minval: 1e1, maxval: 1_00}, width: 1_000, run: 2024_01}\n");
    BOOST_TEST(config.records_per_epoch == 50'000);
    BOOST_TEST(config.max_restarts == 10);
    BOOST_TEST(config.scheduling_unit == 7);
    auto const& searcher = *config.effective.find("searcher");
    BOOST_TEST(json(*searcher.find("max_trials")) == "1000");
    BOOST_TEST(json(*searcher.find("max_length")) == R"({"batches":1000000})");
    auto const& hyperparameters = *config.effective.find("hyperparameters");
    BOOST_TEST(json(*hyperparameters.find("layers")) == R"({"maxval":100,"minval":10,"type":"int"})");
    // Where any value may be, text stays text.
    BOOST_TEST(json(*hyperparameters.find("width")) == R"("1_000")");
    BOOST_TEST(json(*hyperparameters.find("run")) == R"("2024_01")");
}

BOOST_AUTO_TEST_CASE(text_that_is_no_integer_is_refused_where_one_is_wanted) {
    for (auto const* wrong :
         {"1.5", "'50_000'", "5__0", "_50", "50_", "5_0_x", "1e16", ".inf", "9_223_372_036_854_775_808"}) {
        auto const message = sanity_of(std::string("max_restarts: ") + wrong + "\n");
        BOOST_TEST(contains(message, "max_restarts must be an integer of at least 0"),
                   wrong << ": " << message);
    }
    BOOST_TEST(contains(sanity_of("max_restarts: -1_0\n"), "found -10"));
    BOOST_TEST(sanity_of("max_restarts: 9007199254740992.0\n") == "");
    BOOST_TEST(json(must(parse_override("searcher.max_trials=1e3")).document) ==
               R"({"searcher":{"max_trials":1000}})");
    BOOST_TEST(json(must(parse_override("max_restarts=1_0")).document) == R"({"max_restarts":10})");
    BOOST_TEST(json(must(parse_override("name=1_0")).document) == R"({"name":"1_0"})");
}

BOOST_AUTO_TEST_CASE(every_typed_field_is_what_was_written) {
    auto const config = read_with(R"(
name: digits
description: real images
labels: [a, b]
workspace: w
project: p
data: {path: /d}
entrypoint: [python3, train.py]
resources: {slots_per_trial: 8, max_slots: 16, resource_pool: compute, priority: 42, weight: 2, shm_size: 1.5 gb,
            devices: ['/dev/x:/dev/y'], is_single_node: true}
environment:
  image: {cpu: c.sif}
  environment_variables: [A=1=2, EMPTY, 'B=']
  ports: {http: 80}
  force_pull_image: true
  registry_auth: {username: u, password: p}
  add_capabilities: [SYS_NICE]
bind_mounts: [{host_path: /h, container_path: /c, read_only: true}]
slurm: {slots_per_node: 4, gpu_type: a100, sbatch_args: [--mem=8G], launch: rank, mpi: pmix,
        srun_args: [--mem-bind local, -u], bind: '1,0',
        persist: [checkpoints/, out/./sub/], forward_signals: [USR1], preempted_exit_codes: [85, 3], progress_glob: 'ckpt/*.pt', hang_timeout: 600}
checkpoint_policy: none
min_validation_period: {epochs: 2}
min_checkpoint_period: {records: 3}
perform_initial_validation: true
records_per_epoch: 10
scheduling_unit: 7
max_restarts: 0
preemption_timeout: 60
reproducibility: {experiment_seed: 13}
profiling: {enabled: true, begin_on_batch: 1, end_after_batch: 9, sync_timings: false}
debug: true
)");
    BOOST_TEST(config.name == "digits");
    BOOST_TEST(config.description == "real images");
    BOOST_TEST((config.labels == std::vector<std::string>{"a", "b"}));
    BOOST_TEST(config.workspace == "w");
    BOOST_TEST(*config.data.find("path")->text() == "/d");
    BOOST_TEST((config.entrypoint == Entrypoint(std::vector<std::string>{"python3", "train.py"})));
    BOOST_TEST(config.resources.slots_per_trial == 8);
    BOOST_TEST(config.resources.max_slots.value() == 16);
    BOOST_TEST(config.resources.resource_pool == "compute");
    BOOST_TEST(config.resources.priority.value() == 42);
    BOOST_TEST(config.resources.weight == 2.0);
    BOOST_TEST(config.resources.shm_size_bytes.value() == 1610612736);
    BOOST_TEST(config.resources.devices.at(0).container_path == "/dev/y");
    BOOST_TEST(config.resources.is_single_node);
    BOOST_TEST(config.environment.image.cpu.value() == "c.sif");
    BOOST_TEST(!config.environment.image.cuda);
    EnvironmentVariables const variables = {{"A", "1=2"}, {"EMPTY", ""}, {"B", ""}};
    BOOST_TEST((config.environment.environment_variables.cuda == variables));
    BOOST_TEST((config.environment.environment_variables.cpu == variables));
    BOOST_TEST(config.environment.ports.at("http") == 80);
    BOOST_TEST(config.environment.force_pull_image);
    BOOST_TEST(config.environment.registry_auth->password.value() == "p");
    BOOST_TEST(config.environment.add_capabilities.at(0) == "SYS_NICE");
    BOOST_TEST(config.bind_mounts.at(0).read_only);
    BOOST_TEST(config.bind_mounts.at(0).propagation == "rprivate");
    BOOST_TEST(config.slurm.slots_per_node.value() == 4);
    BOOST_TEST((config.slurm.persist == std::vector<std::string>{"checkpoints", "out/sub"}));
    BOOST_TEST(config.slurm.gpu_type.value() == "a100");
    BOOST_TEST(config.slurm.sbatch_args.find("mem").value() == "8G");
    BOOST_TEST((config.slurm.launch == Launch::rank));
    BOOST_TEST(config.slurm.mpi == "pmix");
    BOOST_TEST((config.slurm.srun_args == std::vector<std::string>{"--mem-bind=local", "--unbuffered"}));
    BOOST_TEST(config.slurm.bind == "1,0");
    BOOST_TEST(read_with("slurm:\n  bind: 6,7,2,3,0,1,4,5\n").slurm.bind == "6,7,2,3,0,1,4,5");
    BOOST_TEST((config.slurm.forward_signals == std::vector<std::string>{"USR1"}));
    BOOST_TEST((config.slurm.preempted_exit_codes == std::vector{85, 3}));
    BOOST_TEST(config.slurm.hang_timeout_s.value() == 600u);
    BOOST_TEST((config.slurm.progress_globs == std::vector<std::string>{"ckpt/*.pt"}));
    BOOST_TEST((read_with("slurm: {progress_glob: [a, /b/*]}").slurm.progress_globs ==
                std::vector<std::string>{"a", "/b/*"}));
    BOOST_TEST((config.checkpoint_policy == CheckpointPolicy::none));
    BOOST_TEST((config.min_validation_period == Length{Length::Unit::epochs, 2}));
    BOOST_TEST((config.min_checkpoint_period == Length{Length::Unit::records, 3}));
    BOOST_TEST(config.perform_initial_validation);
    BOOST_TEST(config.records_per_epoch == 10);
    BOOST_TEST(config.scheduling_unit == 7);
    BOOST_TEST(config.max_restarts == 0);
    BOOST_TEST(config.preemption_timeout_seconds.value() == 60);
    BOOST_TEST(config.reproducibility.experiment_seed.value() == 13);
    BOOST_TEST(config.profiling.end_after_batch.value() == 9);
    BOOST_TEST(!config.profiling.sync_timings);
    BOOST_TEST(config.debug);
}

BOOST_AUTO_TEST_CASE(an_mpi_type_is_any_name_that_srun_may_list) {
    for (auto const* name : {"default", "none", "pmix", "pmix_v4", "pmi2", "cray_shasta", "openmpi"})
        BOOST_TEST(read_with(std::string("slurm: {mpi: ") + name + "}").slurm.mpi == name);
    for (auto const* name : {"", "list", "-x", "a b", "a=b", "a,b", "a\n"})
        BOOST_TEST(!is_mpi_name(name), name);
    BOOST_TEST(is_mpi_name(std::string(64, 'a')));
    BOOST_TEST(!is_mpi_name(std::string(65, 'a')));
}

BOOST_AUTO_TEST_CASE(searchers_become_their_own_types) {
    auto const searcher = [](std::string const& text) { return read_with("searcher: " + text).searcher; };
    auto const single = searcher("{max_length: {batches: 500}}");
    BOOST_TEST(single.metric == "loss");
    BOOST_TEST(single.smaller_is_better);
    BOOST_TEST(
        (std::get<SingleSearch>(single.method).max_length.value() == Length{Length::Unit::batches, 500}));
    BOOST_TEST((std::get<SingleSearch>(searcher("{max_length: 500}").method).max_length->unit ==
                Length::Unit::none));
    BOOST_TEST(
        std::get<RandomSearch>(searcher("{name: random, max_trials: 3}").method).max_concurrent_trials == 16);
    BOOST_TEST(std::get<GridSearch>(searcher("{name: grid, max_concurrent_trials: 0}").method)
                   .max_concurrent_trials == 0);
    auto const asha = std::get<AdaptiveAshaSearch>(
        searcher("{name: adaptive_asha, max_trials: 3, time_metric: t, max_time: 9, bracket_rungs: [2, 3]}")
            .method);
    BOOST_TEST((asha.mode == AshaMode::standard));
    BOOST_TEST(asha.divisor == 4.0);
    BOOST_TEST(asha.bracket_rungs.size() == 2u);
    BOOST_TEST(std::get<AsyncHalvingSearch>(
                   searcher("{name: async_halving, num_rungs: 2, max_trials: 3, max_length: 9}").method)
                   .num_rungs == 2);
}

BOOST_AUTO_TEST_CASE(storages_become_their_own_types) {
    auto const storage = [](std::string const& text) {
        return read_with("checkpoint_storage: " + text).checkpoint_storage;
    };
    auto const shared = storage("{storage_path: sub, save_trial_best: 3}");
    BOOST_TEST(std::get<SharedFsStorage>(shared.location).host_path == "/ckpt");
    BOOST_TEST(std::get<SharedFsStorage>(shared.location).storage_path.value() == "sub");
    BOOST_TEST(std::get<SharedFsStorage>(shared.location).propagation == "rprivate");
    BOOST_TEST(shared.save_trial_best == 3);
    BOOST_TEST(shared.save_trial_latest == 1);
    BOOST_TEST(std::get<DirectoryStorage>(storage("{type: directory, container_path: /c}").location)
                   .container_path == "/c");
    BOOST_TEST(
        std::get<S3Storage>(storage("{type: s3, bucket: b, secret_key: k}").location).secret_key.value() ==
        "k");
    BOOST_TEST(std::get<GcsStorage>(storage("{type: gcs, bucket: b}").location).bucket == "b");
    BOOST_TEST(std::get<AzureStorage>(storage("{type: azure, container: c, account_url: u}").location)
                   .account_url.value() == "u");
}

BOOST_AUTO_TEST_CASE(hyperparameters_become_values_ranges_and_groups) {
    auto const space = read_with(R"(
hyperparameters:
  a: 5
  b: ~
  c: [1, 2]
  d: {type: const, val: {x: 1}}
  e: {type: int, minval: -4, maxval: 1, count: 2}
  f: {type: double, minval: 0, maxval: 1}
  g: {type: log, minval: -4, maxval: -1, base: 10}
  h: {type: categorical, vals: [x, ~]}
  i: {j: {k: 1}}
)")
                           .hyperparameters;
    auto const& value = [&](std::size_t i) -> auto const& { return space.at(i).hyperparameter.value; };
    BOOST_TEST(space.size() == 9u);
    BOOST_TEST(space[0].name == "a");
    BOOST_TEST(*std::get<ConstHyperparameter>(value(0)).value.integer() == 5);
    BOOST_TEST(std::get<ConstHyperparameter>(value(1)).value.is_null());
    BOOST_TEST(std::get<ConstHyperparameter>(value(2)).value.items().size() == 2u);
    BOOST_TEST(*std::get<ConstHyperparameter>(value(3)).value.find("x")->integer() == 1);
    BOOST_TEST(std::get<IntHyperparameter>(value(4)).minval == -4);
    BOOST_TEST(std::get<IntHyperparameter>(value(4)).count.value() == 2);
    BOOST_TEST(std::get<DoubleHyperparameter>(value(5)).maxval == 1.0);
    BOOST_TEST(std::get<LogHyperparameter>(value(6)).base == 10.0);
    BOOST_TEST(std::get<CategoricalHyperparameter>(value(7)).vals.size() == 2u);
    BOOST_TEST(std::get<Hyperparameters>(value(8)).at(0).name == "j");
}

BOOST_AUTO_TEST_CASE(what_is_missing_is_told_with_where_it_belongs) {
    auto const told =
        explain(must_fail(read_experiment_config(layer("max_restarts: 1\nsearcher:\n  name: random\n"))));
    check_golden("config/missing_keys.txt",
                 told + "\n" + explain(must_fail(read_experiment_config(layer("")))));
}

BOOST_AUTO_TEST_CASE(what_creation_refuses_is_told) {
    BOOST_TEST(
        contains(incomplete("searcher: {name: adaptive_simple, max_trials: 4}"), "use 'adaptive_asha'"));
    BOOST_TEST(
        contains(incomplete("searcher: {name: adaptive_asha, max_trials: 4}"), "how long a trial trains"));
    BOOST_TEST(contains(incomplete("checkpoint_storage: {type: hdfs, hdfs_url: u, hdfs_path: /p}"),
                        "use 'shared_fs'"));
    BOOST_TEST(contains(incomplete("checkpoint_storage: {type: azure, container: c}"), "Exactly one of"));
    BOOST_TEST(contains(incomplete("workspace: w"), "workspace and project go together"));
    BOOST_TEST(contains(
        incomplete(
            "searcher: {name: grid}\nhyperparameters: {a: {b: [0, 1, {type: int, minval: 1, maxval: 2}]}}"),
        "hyperparameters.a.b[2]: grid search is in use but count was not provided"));  // 23
    BOOST_TEST(contains(incomplete("entrypoint: ''"), "entrypoint is empty"));
}

BOOST_AUTO_TEST_CASE(a_value_is_found_where_it_was_written_and_a_default_nowhere) {
    auto const config = read_with("resources:\n  slots_per_trial: 6\n");
    auto const where = config.where("resources.slots_per_trial").value();
    BOOST_TEST(where.file == "exp.yaml");
    BOOST_TEST(where.line == 2);
    BOOST_TEST(where.column == 20);
    BOOST_TEST(!config.where("max_restarts"));
    BOOST_TEST(!config.where("resources.nothing"));
}

BOOST_AUTO_TEST_CASE(an_effective_configuration_reads_back_to_itself) {
    auto const first =
        read_with("labels: [b, a]\nresources: {shm_size: 1g}\nhyperparameters: {lr: 1e-5}\n").effective;
    auto const again = read(yaml::render_yaml(first)).effective;
    BOOST_TEST(yaml::render_yaml(again) == yaml::render_yaml(first));
    BOOST_TEST((again == first));
}

BOOST_AUTO_TEST_CASE(the_order_of_keys_in_a_file_does_not_show_in_the_result) {
    auto const one =
        read_with("debug: true\nmax_restarts: 2\nresources: {priority: 3, max_slots: 4}\n").effective;
    auto const two =
        read_with("resources: {max_slots: 4, priority: 3}\nmax_restarts: 2\ndebug: true\n").effective;
    BOOST_TEST(yaml::render_yaml(one) == yaml::render_yaml(two));
    BOOST_TEST(json(one) == json(two));
}

BOOST_AUTO_TEST_CASE(secrets_are_masked_and_everything_else_is_not) {
    auto const masked =
        mask_secrets(layer("data: {secrets: {a: {b: s1}, c: [s2]}, plain: ok}\n"
                           "environment: {registry_auth: {username: ok, password: s3}}\n"
                           "checkpoint_storage: {access_key: s4, secret_key: s5, connection_string: s6, "
                           "credential: s7, bucket: ok}\n"));
    auto const text = json(masked);
    for (int i = 1; i <= 7; ++i) BOOST_TEST(!contains(text, "s" + std::to_string(i) + "\""), text);
    BOOST_TEST(contains(text, R"("plain":"ok")"));
    BOOST_TEST(contains(text, R"("username":"ok")"));
    BOOST_TEST(contains(text, R"("bucket":"ok")"));
    BOOST_TEST(contains(text, R"("********")"));
}

BOOST_AUTO_TEST_CASE(trials_to_wait_for_are_read_as_they_are_written) {
    auto const config = read_with("slurm: {after: [7, 9.20, '8.3'], after_any: [10]}");
    BOOST_TEST((config.slurm.after == std::vector<std::string>{"7", "9.20", "8.3"}));
    BOOST_TEST((config.slurm.after_any == std::vector<std::string>{"10"}));
    for (auto const* wrong : {"[0]", "[-1]", "[7.]", "['7.x']", "[1e3]", "[true]", "7"})
        BOOST_TEST(contains(incomplete("slurm: {after: " + std::string(wrong) + "}"), "slurm.after"), wrong);
}

BOOST_AUTO_TEST_CASE(a_log_policy_with_an_action_has_the_pattern_of_the_default_policy_of_its_name) {
    BOOST_TEST(pattern_of({"CUDA OOM", {}, LogAction::cancel_retries}).value_or("") ==
               ".*CUDA out of memory.*");
    BOOST_TEST(pattern_of({"CUDA OOM", "mine", LogAction::cancel_retries}).value_or("") == "mine");
    BOOST_TEST(!pattern_of({"CUDA OOM", {}, {}}).has_value());
    BOOST_TEST(!pattern_of({"another", {}, LogAction::cancel_retries}).has_value());
    BOOST_TEST(is_default_log_policy("ECC Error"));
    BOOST_TEST(!is_default_log_policy("another"));
}

BOOST_AUTO_TEST_SUITE_END()
