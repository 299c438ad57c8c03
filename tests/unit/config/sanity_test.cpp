#include "config_support.hpp"
#include "golden.hpp"

using namespace det;
using namespace det::config;

BOOST_AUTO_TEST_SUITE(sanity_test)

BOOST_AUTO_TEST_CASE(all_mistakes_of_a_file_are_told_in_one_run) {
    check_golden("config/sanity_mistakes.txt", sanity_of(R"(nam: x
description: 5
labels: abc
max_restarts: -1
debug: 'yes'
entrypoint: {cmd: x}
checkpoint_policy: bets
hyperparameters:
  lr: {type: log, minval: -1, maxval: -4, base: 0}
  units: {type: int, minval: 1}
  optimizer: {type: adam, lr: 0.1}
  group:
    inner: {type: duoble, minval: 0, maxval: 1}
searcher:
  name: single
  max_trials: 4
  metric: 7
  smaller_is_better: 'false'
resources:
  slot_per_trial: 16
  slots_per_trial: '16'
  priority: 100
  shm_size: 1.gb
  devices: ['dev/a:/dev/a']
environment:
  environment_variables:
    - A: 1
    - =x
  image: [a]
bind_mounts:
  - host_path: relative
    container_path: .
  - container_path: /x
checkpoint_storage:
  type: shard_fs
  host_path: /x
slots_per_trial: 8
min_validation_period: {batches: 1, epochs: 1}
min_checkpoint_period: {}
slurm:
  foo: 1
  launch: ranks
  sbatch_args: --mem=8G
profiling: {begin_on_batch: 5, end_after_batch: 4}
reproducibility: {experiment_seed: -3}
data: {rate: .nan}
resource_pool:big
)"));
}

BOOST_AUTO_TEST_CASE(an_unknown_key_is_told_as_the_manual_shows_it) {
    BOOST_TEST(sanity_of("resources:\n  slot_per_trial: 16\n") ==
               "exp.yaml:2:3: error: unknown key 'slot_per_trial' in resources [unknown-key]\n"
               "    2 |   slot_per_trial: 16\n"
               "      |   ^~~~~~~~~~~~~~\n"
               "  hint: use 'slots_per_trial'\n");
}

BOOST_AUTO_TEST_CASE(a_range_of_slots_has_two_ends_in_order) {
    std::string text;
    for (auto const* slots :
         {"{min: 8, max: 4}", "{min: 0, max: 4}", "{min: 4}", "{min: 1, max: 4, step: 2}", "[1, 4]", "-1"})
        text += sanity_of(
            fmt::format("searcher: {{name: single, metric: m}}\nresources: {{slots_per_trial: {}}}\n"
                        "entrypoint: x\n",
                        slots));
    for (auto const* time : {"soon", "0", "[1]"})
        text +=
            sanity_of(fmt::format("searcher: {{name: single, metric: m}}\nslurm: {{min_time: {}}}\n"
                                  "entrypoint: x\n",
                                  time));
    check_golden("config/elastic_mistakes.txt", text);
}

BOOST_AUTO_TEST_CASE(a_health_check_is_a_truth_value_or_has_a_program_that_each_node_can_find) {
    std::string all;
    for (std::string const value :
         {"1", "{}", "{timeout: 5}", "{command: dcgmi}", "{command: []}", "{command: [1]}", "{command: ['']}",
          "{command: [./check.sh]}", "{command: [~/check.sh]}", "{command: [dcgmi], timeout: 0}",
          "{command: [dcgmi], timeout: 3601}", "{command: [dcgmi], time: 5}"})
        all += sanity_of("slurm: {health_check: " + value + "}\n");
    check_golden("config/health_check.txt", all);
    for (std::string const value :
         {"true", "false", "{command: [dcgmi, diag, -r, '1']}", "{command: [/opt/site/check], timeout: 1}",
          "{command: [bash, -c, ./check.sh], timeout: 3600}"})
        BOOST_TEST(sanity_of("slurm: {health_check: " + value + "}\n") == "", value);
}

BOOST_AUTO_TEST_CASE(whatever_a_template_leaves_out_is_no_mistake) {
    for (std::string_view const text :
         {"", "searcher: {metric: loss}", "searcher: {max_trials: 3}",
          "checkpoint_storage: {save_trial_best: 3}", "searcher: ~", "resources: ~", "labels: ~",
          "internal: ~", "checkpoint_storage: {bucket: b}"}) {
        BOOST_TEST(sanity_of(text) == "", text);
    }
}

BOOST_AUTO_TEST_CASE(priorities_sizes_divisors_and_lengths_have_their_limits) {  // 20, 21, 24, 25
    for (std::string_view const good :
         {"resources: {priority: 1}", "resources: {priority: 99}", "resources: {shm_size: '1.5 gb'}",
          "resources: {shm_size: 1}", "resources: {shm_size: 1219021 b}", "resources: {shm_size: 128M}",
          "resources: {shm_size: .5TiB}", "searcher: {name: adaptive_asha, divisor: 1.5}",
          "min_validation_period: {batches: 0}", "searcher: {name: single, max_length: 0}",
          "searcher: {name: single, max_length: {epochs: 1}}"}) {
        BOOST_TEST(sanity_of(good) == "", good);
    }
    for (std::string_view const bad :
         {"resources: {priority: 0}", "resources: {priority: 100}", "resources: {shm_size: giga}",
          "resources: {shm_size: 1.gb}", "resources: {shm_size: 1 gi}", "resources: {shm_size: 1 i}",
          "resources: {shm_size: -1}", "searcher: {name: adaptive_asha, divisor: 1}",
          "min_validation_period: {batches: 1, epochs: 1}", "min_validation_period: {}",
          "min_validation_period: {batches: 1.5}", "searcher: {name: single, max_length: {batches: 0}}",
          "searcher: {name: single, max_length: -1}"}) {
        BOOST_TEST(to_int(check_sanity(layer(bad)).exit_code()) == 3, bad);
    }
}

BOOST_AUTO_TEST_CASE(exit_codes_and_progress_patterns_have_their_limits) {
    for (auto const* good :
         {"{preempted_exit_codes: [1, 125]}", "{preempted_exit_codes: []}", "{progress_glob: 'a/*.pt'}",
          "{progress_glob: [a, '/b/?']}", "{forward_signals: [TERM, USR1]}", "{hang_timeout: 10}",
          "{node_timeout: 4}", "{idle_timeout: 30m}", "{idle_timeout: 10}",
          "{idle_timeout: {after: 2h, action: end}}", "{idle_timeout: {after: 90s}}",
          "{idle_timeout: 365d}"}) {
        auto const found = check_sanity(layer("slurm: " + std::string(good)));
        BOOST_TEST(!found.has_errors(), explain(found));
    }
    for (auto const* bad : {"{preempted_exit_codes: [0]}", "{preempted_exit_codes: [126]}",
                            "{preempted_exit_codes: 85}",  "{progress_glob: ''}",
                            "{progress_glob: 'a/**/b'}",   "{progress_glob: [a, '']}",
                            "{forward_signals: [KILL]}",   "{hang_timeout: 9}",
                            "{node_timeout: 3}",           "{hang_timeout: 10m}",
                            "{idle_timeout: 9}",           "{idle_timeout: 9s}",
                            "{idle_timeout: 30 m}",        "{idle_timeout: m}",
                            "{idle_timeout: -5m}",         "{idle_timeout: 366d}",
                            "{idle_timeout: 1.5h}",        "{idle_timeout: true}",
                            "{idle_timeout: {}}",          "{idle_timeout: {action: end}}",
                            "{idle_timeout: {after: 5}}",  "{idle_timeout: {after: 1h, action: kill}}",
                            "{idle_timeout: 99999999999d}"}) {
        BOOST_TEST(check_sanity(layer("slurm: " + std::string(bad))).has_errors(), bad);
    }
}

BOOST_AUTO_TEST_CASE(a_storage_path_lies_below_its_host_path) {  // 22
    auto const sane = [](std::string const& storage_path) {
        return sanity_of("checkpoint_storage: {type: shared_fs, host_path: /tmp/, storage_path: " +
                         storage_path + "}") == "";
    };
    BOOST_TEST(sane("a/../b"));
    BOOST_TEST(sane("/tmp/x"));
    BOOST_TEST(sane("/tmp"));
    BOOST_TEST(!sane("/tmp/a/../../b"));
    BOOST_TEST(!sane("/tmpfoo"));
    BOOST_TEST(!sane(".."));
    BOOST_TEST(!sane("a/../../b"));
}

BOOST_AUTO_TEST_CASE(storages_know_their_keys_and_their_rules) {
    for (std::string_view const good :
         {"checkpoint_storage: {type: directory, container_path: /c}",
          "checkpoint_storage: {type: s3, bucket: b, prefix: a/./b}",
          "checkpoint_storage: {type: gcs, bucket: b}",
          "checkpoint_storage: {type: azure, container: c, account_url: u, credential: k}",
          "checkpoint_storage: {type: hdfs, hdfs_url: u, hdfs_path: /p}"}) {
        BOOST_TEST(sanity_of(good) == "", good);
    }
    for (std::string_view const bad :
         {"checkpoint_storage: {type: s3, prefix: ../a}", "checkpoint_storage: {type: s3, prefix: a/..}",
          "checkpoint_storage: {type: gcs, access_key: k}",
          "checkpoint_storage: {type: azure, connection_string: s, credential: k}",
          "checkpoint_storage: {type: hdfs, hdfs_path: p}"}) {
        BOOST_TEST(sanity_of(bad) != "", bad);
    }
}

BOOST_AUTO_TEST_CASE(every_key_of_determined_is_known) {
    auto const found = check_sanity(layer(R"(
name: n
description: d
labels: [a]
data: {anything: {goes: [1, ~]}, secrets: {k: v}}
entrypoint: model_def:Trial
environment:
  image: {cpu: a, cuda: b, rocm: c}
  environment_variables: {cpu: [A=1], cuda: [EMPTY], rocm: []}
  ports: {http: 80}
  proxy_ports: [{proxy_port: 1, proxy_tcp: true, unauthenticated: true, default_service_id: true}]
  force_pull_image: true
  registry_auth: {username: u, password: p, auth: a, email: e, serveraddress: s, identitytoken: i, registrytoken: r}
  add_capabilities: [A]
  drop_capabilities: [B]
  pod_spec: {spec: {containers: []}}
hyperparameters:
  a: {type: const, val: [1]}
  b: {type: int, minval: 1, maxval: 2, count: 2}
  c: {type: double, minval: 0.1, maxval: 2, count: 2}
  d: {type: log, minval: -1, maxval: 2.5, base: 10, count: 2}
  e: {type: categorical, vals: [1, a, ~]}
  f: {g: {h: 1}}
  i: [1, {j: 2}]
searcher: {name: adaptive_asha, metric: m, smaller_is_better: false, max_trials: 4, mode: aggressive, divisor: 3,
           max_rungs: 2, bracket_rungs: [1], max_concurrent_trials: 0, stop_once: true, max_length: {batches: 5},
           time_metric: t, max_time: 5, source_trial_id: 3}
resources: {slots_per_trial: 0, slots: 1, max_slots: 4, resource_pool: p, priority: 3, weight: 1.5, native_parallel: false,
            shm_size: 4G, devices: ["/dev/a:/dev/b:rw"], is_single_node: true, agent_label: x}
checkpoint_storage: {type: shared_fs, host_path: /h, storage_path: s, propagation: p, container_path: c,
                     checkpoint_path: k, tensorboard_path: t, save_experiment_best: 1}
checkpoint_policy: all
min_validation_period: {records: 1}
min_checkpoint_period: {epochs: 1}
perform_initial_validation: true
records_per_epoch: 1
scheduling_unit: 1
max_restarts: 0
reproducibility: {experiment_seed: 0}
profiling: {enabled: true, begin_on_batch: 1, end_after_batch: 1, sync_timings: false}
optimizations: {aggregation_frequency: 1, average_aggregated_gradients: true, average_training_metrics: true,
                gradient_compression: true, grad_updates_size_file: f, mixed_precision: O1,
                tensor_fusion_threshold: 1, tensor_fusion_cycle_time: 1, auto_tune_tensor_fusion: true}
bind_mounts: [{host_path: /a, container_path: b, read_only: true, propagation: rprivate}]
slurm: {slots_per_node: 1, gpu_type: t, sbatch_args: [--mem=8G], launch: rank, mpi: pmi2}
pbs: {slots_per_node: 1, pbsbatch_args: [a]}
workspace: w
project: p
debug: true
log_policies: [{name: n, pattern: p, action: cancel_retries}, {pattern: q, action: {type: exclude_node}}]
retention_policy: {log_retention_days: -1}
preemption_timeout: 60
integrations:
  pachyderm:
    pachd: {host: h, port: 1}
    proxy: {scheme: s, host: h, port: 1}
    dataset: {project: p, repo: r, commit: c, branch: b, token: t}
  webhooks: {webhook_id: [1], webhook_name: [a], exclude: true}
security: {kerberos: {config_file: f}}
tensorboard_storage: {type: shared_fs}
data_layer: {type: s3}
internal: ~
)"));
    BOOST_TEST(!found.has_errors(), explain(found));
    check_golden("config/ignored_keys.txt", explain(found));
}

BOOST_AUTO_TEST_CASE(a_key_of_a_custom_searcher_that_is_nearly_a_known_one_is_a_warning) {
    auto const found = check_sanity(layer(R"(searcher:
  name: custom
  command: [python3, sampler.py]
  metric: loss
  max_trials: 4
  max_concurent_trials: 2
  anwser_timeout: 5
  prunes: true
  stop_after: 3
  mood: calm
data: {ur: here}
)"));
    BOOST_TEST(!found.has_errors(), explain(found));
    check_golden("config/custom_searcher_keys.txt", explain(found));
}

BOOST_AUTO_TEST_CASE(a_thousand_mistakes_do_not_fill_the_screen) {
    std::string text;
    for (int i = 0; i < 20'000; ++i) text += "wrong_key_" + std::to_string(i) + ": 1\n";
    auto const found = check_sanity(layer(text));
    BOOST_TEST(found.sorted().size() == 101u);
}

BOOST_AUTO_TEST_CASE(a_document_that_is_no_map_is_refused) {
    BOOST_TEST(contains(explain(must_fail(parse_layer("- a\n", "exp.yaml"))), "found a list"));
    BOOST_TEST(contains(explain(must_fail(parse_layer("hello\n", "exp.yaml"))), "found the string 'hello'"));
}

BOOST_AUTO_TEST_SUITE_END()
