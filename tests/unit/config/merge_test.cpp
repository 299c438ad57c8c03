#include "config_support.hpp"

using namespace det;
using namespace det::config;

// The numbers in comments are those of the test vectors in Determined's rules.
BOOST_AUTO_TEST_SUITE(merge_test)

BOOST_AUTO_TEST_CASE(of_scalars_the_configuration_wins_and_other_keys_stay) {  // 1
    auto const result = merged("name: b\nmax_restarts: 3\n", "description: a\nname: t\n");
    BOOST_TEST(json(result) == R"({"description":"a","max_restarts":3,"name":"b"})");
}

BOOST_AUTO_TEST_CASE(of_bind_mounts_on_one_container_path_the_configuration_wins) {  // 2
    BOOST_TEST(
        merged_key("bind_mounts", "bind_mounts: [{host_path: /h9, container_path: /c2}]",
                   "bind_mounts: [{host_path: /h1, container_path: /c1}, {host_path: /h2, container_path: "
                   "/c2}]") ==
        R"([{"container_path":"/c2","host_path":"/h9"},{"container_path":"/c1","host_path":"/h1"}])");
}

BOOST_AUTO_TEST_CASE(within_one_side_nothing_is_dropped) {  // 3
    auto const mounts =
        merged("bind_mounts: []",
               "bind_mounts: [{host_path: /a, container_path: /x}, {host_path: /b, container_path: /x}]");
    BOOST_TEST(mounts.find("bind_mounts")->items().size() == 2u);
}

BOOST_AUTO_TEST_CASE(devices_merge_by_container_path_in_either_form) {  // 4
    auto const config = merged("resources: {devices: [{host_path: /dev/b, container_path: /dev/a}]}",
                               "resources: {devices: ['/dev/a:/dev/a:r']}");
    BOOST_TEST(json(*config.find("resources")) ==
               R"({"devices":[{"container_path":"/dev/a","host_path":"/dev/b"}]})");
    auto const device =
        must(read_experiment_config(must(merge_layers({Layer{config}, Layer{layer(essentials)}}))))
            .resources.devices.at(0);
    BOOST_TEST(device.mode == "mrw");
}

BOOST_AUTO_TEST_CASE(environment_variables_follow_each_other_for_each_kind_of_slot) {  // 5, 6
    BOOST_TEST(
        merged_key("environment", "environment: {environment_variables: [B=2]}",
                   "environment: {environment_variables: [A=1, B=1]}") ==
        R"({"environment_variables":{"cpu":["A=1","B=1","B=2"],"cuda":["A=1","B=1","B=2"],"rocm":["A=1","B=1","B=2"]}})");
    BOOST_TEST(merged_key("environment", "environment: {environment_variables: [Y=2]}",
                          "environment: {environment_variables: {gpu: [X=1]}}") ==
               R"({"environment_variables":{"cpu":["Y=2"],"cuda":["X=1","Y=2"],"rocm":["Y=2"]}})");
}

BOOST_AUTO_TEST_CASE(an_image_for_all_and_one_for_a_kind_merge) {
    BOOST_TEST(merged_key("environment", "environment: {image: {gpu: new}}", "environment: {image: old}") ==
               R"({"image":{"cpu":"old","cuda":"new","rocm":"old"}})");
}

BOOST_AUTO_TEST_CASE(labels_are_a_set) {  // 7
    BOOST_TEST(merged_key("labels", "labels: [y, z]", "labels: [x, y]") == R"(["x","y","z"])");
    BOOST_TEST(merged_key("labels", "labels: {y: true}", "labels: [x, y]") == R"(["x","y"])");
}

BOOST_AUTO_TEST_CASE(plain_lists_follow_each_other_the_lowest_layer_first) {  // 8, 9
    BOOST_TEST(
        merged_key("slurm", "slurm: {sbatch_args: [--mem=8G]}", "slurm: {sbatch_args: [--exclusive]}") ==
        R"({"sbatch_args":["--exclusive","--mem=8G"]})");
    auto const three = must(
        merge_layers({Layer{layer("slurm: {sbatch_args: [c]}")}, Layer{layer("slurm: {sbatch_args: [t]}")},
                      Layer{layer("slurm: {sbatch_args: [site]}")}}));
    BOOST_TEST(json(three) == R"({"slurm":{"sbatch_args":["site","t","c"]}})");
}

BOOST_AUTO_TEST_CASE(setup_lines_of_the_site_run_first_and_all_are_kept) {
    auto const all = must(merge_layers(
        {Layer{layer("slurm: {setup: [load, a]}")}, Layer{layer("slurm: {setup: [of template]}")},
         Layer{layer("slurm: {setup: [of pool]}")}, Layer{layer("slurm: {setup: [of site, a]}")}}));
    BOOST_TEST(json(all) == R"({"slurm":{"setup":["of site","a","of pool","of template","load","a"]}})");
}

BOOST_AUTO_TEST_CASE(storages_of_different_type_share_only_what_all_have) {  // 10, 11
    BOOST_TEST(merged_key("checkpoint_storage", "checkpoint_storage: {type: shared_fs, host_path: /ck}",
                          "checkpoint_storage: {type: s3, bucket: b, save_trial_best: 5}") ==
               R"({"host_path":"/ck","save_trial_best":5,"type":"shared_fs"})");
    BOOST_TEST(merged_key("checkpoint_storage",
                          "checkpoint_storage: {type: gcs, bucket: z, save_trial_latest: 2}",
                          "checkpoint_storage: {save_trial_latest: 7}") ==
               R"({"bucket":"z","save_trial_latest":2,"type":"gcs"})");
    BOOST_TEST(merged_key("checkpoint_storage", "checkpoint_storage: {save_trial_latest: 2}",
                          "checkpoint_storage: {type: shared_fs, host_path: /ck}") ==
               R"({"host_path":"/ck","save_trial_latest":2,"type":"shared_fs"})");
}

BOOST_AUTO_TEST_CASE(searchers_of_different_name_share_only_what_all_have) {  // 12
    BOOST_TEST(merged_key("searcher", "searcher: {name: single}",
                          "searcher: {name: random, max_trials: 9, metric: m}") ==
               R"({"metric":"m","name":"single"})");
    BOOST_TEST(merged_key("searcher", "searcher: {max_trials: 3}",
                          "searcher: {name: random, max_trials: 9, metric: m}") ==
               R"({"max_trials":3,"metric":"m","name":"random"})");
}

BOOST_AUTO_TEST_CASE(a_hyperparameter_is_replaced_whole) {  // 13
    BOOST_TEST(merged_key("hyperparameters",
                          "hyperparameters: {lr: {type: log, minval: -4, maxval: -1, base: 10}}",
                          "hyperparameters: {lr: {type: double, minval: 0, maxval: 1, count: 3}, b: 1}") ==
               R"({"b":1,"lr":{"base":10,"maxval":-1,"minval":-4,"type":"log"}})");
    BOOST_TEST(merged_key("hyperparameters", "hyperparameters: {layers: [3]}",
                          "hyperparameters: {layers: [1, 2]}") == R"({"layers":[3]})");
}

BOOST_AUTO_TEST_CASE(only_groups_of_hyperparameters_merge_and_null_is_a_value_there) {  // 14
    BOOST_TEST(merged_key("hyperparameters", "hyperparameters: {opt: {lr: 0.2}}",
                          "hyperparameters: {opt: {lr: 0.1, m: 0.9}}") == R"({"opt":{"lr":0.2,"m":0.9}})");
    BOOST_TEST(merged_key("hyperparameters", "hyperparameters: {opt: ~}",
                          "hyperparameters: {opt: {lr: 0.1}}") == R"({"opt":null})");
    BOOST_TEST(merged_key("hyperparameters", "hyperparameters: {opt: {lr: 0.2}}",
                          "hyperparameters: {opt: 5}") == R"({"opt":{"lr":0.2}})");
}

BOOST_AUTO_TEST_CASE(null_is_absent_and_zero_is_a_value) {  // 15
    BOOST_TEST(merged_key("description", "description: ~", "description: d") == R"("d")");
    BOOST_TEST(merged_key("max_restarts", "max_restarts: 0", "max_restarts: 3") == "0");
    BOOST_TEST(merged_key("labels", "labels: ~", "labels: [a]") == R"(["a"])");
}

BOOST_AUTO_TEST_CASE(free_data_merges_by_the_plain_rules) {  // 16
    BOOST_TEST(merged_key("data", "data: {a: {y: 2, l: [2]}}", "data: {a: {x: 1, l: [1]}}") ==
               R"({"a":{"l":[1,2],"x":1,"y":2}})");
    BOOST_TEST(merged_key("data", "data: {a: 1.5}", "data: {a: 1}") == R"({"a":1.5})");
    BOOST_TEST(merged_key("data", "data: {a: ~}", "data: {b: 1}") == R"({"a":null,"b":1})");
}

BOOST_AUTO_TEST_CASE(lengths_and_entrypoints_are_replaced_whole) {  // 17
    BOOST_TEST(merged_key("min_validation_period", "min_validation_period: {epochs: 1}",
                          "min_validation_period: {batches: 5}") == R"({"epochs":1})");
    BOOST_TEST(merged_key("searcher", "searcher: {name: single, max_length: 5}",
                          "searcher: {name: single, max_length: {batches: 5}}") ==
               R"({"max_length":5,"name":"single"})");
    BOOST_TEST(merged_key("entrypoint", "entrypoint: [b]", "entrypoint: [a]") == R"(["b"])");
    BOOST_TEST(merged_key("entrypoint", "entrypoint: b", "entrypoint: [a]") == R"("b")");
    BOOST_TEST(merged_key("searcher", "searcher: {name: adaptive_asha, bracket_rungs: [2]}",
                          "searcher: {name: adaptive_asha, bracket_rungs: [1]}") ==
               R"({"bracket_rungs":[2],"name":"adaptive_asha"})");
}

BOOST_AUTO_TEST_CASE(azure_credentials_come_from_one_side) {  // 18
    BOOST_TEST(merged_key("checkpoint_storage", "checkpoint_storage: {type: azure, connection_string: s}",
                          "checkpoint_storage: {type: azure, container: c, account_url: u, credential: k}") ==
               R"({"connection_string":"s","container":"c","type":"azure"})");
}

BOOST_AUTO_TEST_CASE(log_policies_and_proxy_ports_merge_by_their_name) {
    BOOST_TEST(
        merged_key(
            "log_policies", "log_policies: [{name: a, pattern: x}]",
            "log_policies: [{name: a, pattern: y}, {name: b, action: {type: exclude_node}, pattern: z}]") ==
        R"([{"name":"a","pattern":"x"},{"action":"exclude_node","name":"b","pattern":"z"}])");
    BOOST_TEST(
        merged_key("environment", "environment: {proxy_ports: [{proxy_port: 1}]}",
                   "environment: {proxy_ports: [{proxy_port: 1, proxy_tcp: true}, {proxy_port: 2}]}") ==
        R"({"proxy_ports":[{"proxy_port":1},{"proxy_port":2}]})");
}

BOOST_AUTO_TEST_CASE(two_sides_of_different_type_are_an_error_that_shows_both_places) {
    auto const problems = must_fail(merge_layers(
        {Layer{layer("data:\n  path: /a\n")}, Layer{layer("name: t\ndata:\n  path: [/b]\n", "small.yaml")}}));
    auto const told = explain(problems);
    BOOST_TEST(contains(
        told,
        "exp.yaml:2:9: error: data.path is a string here and a list at small.yaml:3:9 [merge-conflict]"));
    BOOST_TEST(to_int(problems.exit_code()) == 3);
}

BOOST_AUTO_TEST_CASE(every_merged_value_keeps_the_place_it_came_from) {
    auto const result =
        merged("resources:\n  slots_per_trial: 4\n", "resources:\n  slots_per_trial: 2\n  priority: 7\n");
    auto const* resources = result.find("resources");
    BOOST_TEST(resources->find("slots_per_trial")->location().text() == "exp.yaml:2:20");
    BOOST_TEST(resources->find("priority")->location().text() == "small.yaml:3:13");
}

BOOST_AUTO_TEST_CASE(no_layers_and_empty_layers_merge_to_nothing) {
    BOOST_TEST(must(merge_layers({})).is_null());
    BOOST_TEST(json(merged("", "")) == "{}");
}

BOOST_AUTO_TEST_SUITE_END()
