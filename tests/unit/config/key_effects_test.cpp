// What acts on each key: the rows, their page, and the warnings that they give.
#include <det/config/key_effects.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>

#include <map>
#include <set>

#include "config_support.hpp"
#include "golden.hpp"
#include "test_listing.hpp"
#include "test_paths.hpp"

using namespace det;
using namespace det::config;

namespace key_effects_test {

/// The warnings for `text` above the essentials, which are the site's defaults.
std::string warnings_of(std::string_view text) {
    auto const defaults = layer(essentials, "site.yaml");
    auto const merged = must(merge_layers({Layer{layer(text)}, Layer{defaults}}));
    auto const config = must(read_experiment_config(merged));
    yaml::Location const non_user_sources[] = {defaults.location()};
    return explain(find_keys_without_effect(config.effective, non_user_sources));
}

/// "PROGRAM/TEST CASE" by the key whose effect it shows.
std::map<std::string, std::string> key_tests() {
    auto const text = must(read_file(test::source_path("tests/unit/config/key_tests.txt")));
    std::map<std::string, std::string> tests;
    for (auto const line : split_lines(text)) {
        auto const blank = line.find(' ');
        if (line.starts_with('#') || blank == std::string_view::npos) continue;
        auto const key = std::string(line.substr(0, blank));
        BOOST_TEST(tests.emplace(key, line.substr(blank + 1)).second, key << " has two lines");
    }
    return tests;
}

}  // namespace key_effects_test

BOOST_AUTO_TEST_SUITE(key_effects_test)

BOOST_AUTO_TEST_CASE(every_key_has_an_effect_or_a_reason_why_it_has_none) {
    auto const keys = list_keys();
    BOOST_TEST(keys.size() > 150u);
    for (auto const& key : keys) BOOST_TEST((key.has_effect_or_above || !key.is_leaf), key.name);
}

/// Whether the document has a value at "a.b[].c".
bool has_key(yaml::Node const& document, std::string_view key) {
    if (key.empty()) return true;
    if (key.starts_with("[]")) {
        key.remove_prefix(key.starts_with("[].") ? 3 : 2);
        return std::ranges::any_of(document.items(), [&](auto const& item) { return has_key(item, key); });
    }
    auto const end = key.find_first_of(".[");
    auto const* value = document.find(key.substr(0, end));
    if (value == nullptr || end == std::string_view::npos) return value != nullptr;
    return has_key(*value, key.substr(key[end] == '.' ? end + 1 : end));
}

BOOST_AUTO_TEST_CASE(the_file_of_every_key_has_every_key) {
    auto const document = layer(must(read_file(test::golden_path("config/every_key.yaml"))));
    // Keys of other storages and searchers, keys that exclude one another, other spellings.
    std::set<std::string_view> const others{"searcher.source_checkpoint_uuid",
                                            "searcher.num_rungs",
                                            "searcher.command",
                                            "searcher.answer_timeout",
                                            "searcher.prune",
                                            "searcher.sets_lengths",
                                            "searcher.unit",
                                            "checkpoint_storage.bucket",
                                            "checkpoint_storage.prefix",
                                            "checkpoint_storage.access_key",
                                            "checkpoint_storage.secret_key",
                                            "checkpoint_storage.endpoint_url",
                                            "checkpoint_storage.container",
                                            "checkpoint_storage.connection_string",
                                            "checkpoint_storage.account_url",
                                            "checkpoint_storage.credential",
                                            "environment.image.gpu",
                                            "environment.environment_variables.gpu",
                                            "log_policies[].action.type",
                                            "internal"};
    for (auto const& key : list_keys())
        BOOST_TEST((!key.is_leaf || others.contains(key.name) || has_key(document, key.name)), key.name);
}

BOOST_AUTO_TEST_CASE(the_page_shows_the_key_tables) {
    check_golden("../../submitter/config/KEYS.md", render_key_page());
}

BOOST_AUTO_TEST_CASE(ctest_lists_a_test_for_every_effect) {
    test::TestListing const listing;
    auto tests = key_tests();
    tests.emplace("(ignored keys)", "config/every_key_of_determined_is_known");
    std::set<std::string> keys{"(ignored keys)"};
    for (auto const& key : list_keys()) {
        if (key.has_own_effect) keys.insert(key.name);
    }
    for (auto const& key : keys) BOOST_TEST(tests.contains(key), key << ": no test");
    for (auto const& [key, test] : tests) {
        BOOST_TEST(keys.contains(key), key << " is no key with an effect");
        listing.require(key, test);
    }
}

BOOST_AUTO_TEST_CASE(keys_without_effect_are_a_warning_with_the_reason) {
    check_golden("config/keys_without_effect.txt", warnings_of(R"(searcher:
  name: single
  metric: loss
  source_trial_id: 3
  max_length: {batches: 5}
resources:
  priority: 3
  weight: 2
  native_parallel: false
  shm_size: 4G
  devices: ["/dev/a:/dev/b"]
environment:
  ports: {http: 80}
  proxy_ports: [{proxy_port: 1, proxy_tcp: true}]
  force_pull_image: true
  registry_auth: {username: u, email: e}
  add_capabilities: [A]
  drop_capabilities: [B]
bind_mounts: [{host_path: /a, container_path: b}]
slurm: {working_directory: shared, persist: [out], trials_per_node: 2}
pbs: {slots_per_node: 1, pbsbatch_args: [a]}
checkpoint_storage: {type: shared_fs, host_path: /h, propagation: p, container_path: c, checkpoint_path: k,
                     tensorboard_path: t}
checkpoint_policy: all
min_validation_period: {batches: 1}
min_checkpoint_period: {epochs: 1}
perform_initial_validation: true
records_per_epoch: 1
scheduling_unit: 100
profiling: {begin_on_batch: 1, end_after_batch: 1, sync_timings: false}
optimizations: {aggregation_frequency: 1, mixed_precision: O1, tensor_fusion_threshold: 1}
retention_policy: {log_retention_days: 7}
integrations:
  pachyderm: {pachd: {host: h, port: 1}}
  webhooks: {webhook_name: [a]}
)"));
}

BOOST_AUTO_TEST_CASE(what_a_key_needs_for_its_effect_may_be_there) {
    BOOST_TEST(warnings_of("environment: {image: i, force_pull_image: true}\n"
                           "bind_mounts: [{host_path: /a, container_path: b}]\n"
                           "profiling: {enabled: true, begin_on_batch: 1}\n"
                           "entrypoint: det-launch horovod -- train\n"
                           "optimizations: {tensor_fusion_threshold: 1}\n"
                           "records_per_epoch: 10\n"
                           "searcher: {name: single, metric: m, max_length: {epochs: 1}}\n") == "");
}

BOOST_AUTO_TEST_CASE(keys_of_trial_classes_have_an_effect_if_the_entrypoint_trains_one) {
    constexpr char keys[] =
        "checkpoint_policy: all\nmin_validation_period: {batches: 1}\nmin_checkpoint_period: {epochs: 1}\n"
        "perform_initial_validation: true\nrecords_per_epoch: 10\nscheduling_unit: 10\n"
        "optimizations: {aggregation_frequency: 2, average_aggregated_gradients: true, "
        "average_training_metrics: true, gradient_compression: true, grad_updates_size_file: f, "
        "mixed_precision: O1, tensor_fusion_threshold: 1, auto_tune_tensor_fusion: true}\n";
    for (auto const* entrypoint :
         {"python3 -m determined.launch.torch_distributed --trial model_def:MyTrial",
          "[python3, -m, determined.exec.harness, 'model_def:MyTrial']", "det-launch horovod --trial m:T",
          "model_def:MyTrial", "package.model_def:MyTrial",
          "python3 -m determined.launch.autohorovod model_def:MyTrial"})
        BOOST_TEST(warnings_of(std::string("entrypoint: ") + entrypoint + "\n" + keys) == "", entrypoint);
    BOOST_TEST(warnings_of("entrypoint: model_def:MyTrial\noptimizations: {tensor_fusion_cycle_time: 1}\n") ==
               "");
    BOOST_TEST(contains(warnings_of(std::string("entrypoint: python3 train.py --trial 7\n") + keys),
                        "'min_validation_period' has no effect"));
    auto const warnings = warnings_of(std::string("entrypoint: python3 train.py\n") + keys);
    BOOST_TEST(std::ranges::count(warnings, '\n') > 0);
    for (auto const* key : {"checkpoint_policy", "records_per_epoch", "optimizations.mixed_precision",
                            "optimizations.auto_tune_tensor_fusion"})
        BOOST_TEST(contains(warnings, std::string("'") + key + "' has no effect"), key);
}

BOOST_AUTO_TEST_CASE(listed_brackets_leave_the_mode_without_effect) {
    auto const warnings = warnings_of(
        "searcher: {name: adaptive_asha, metric: m, max_trials: 4, max_length: 9, mode: aggressive, "
        "bracket_rungs: [2], stop_once: false}\n");
    BOOST_TEST(contains(warnings, "'searcher.mode' has no effect: bracket_rungs"), warnings);
    BOOST_TEST(contains(warnings, "'searcher.stop_once' has no effect"), warnings);
}

BOOST_AUTO_TEST_CASE(values_that_no_user_has_set_are_no_warning) {
    auto const site = layer(std::string(essentials) + "scheduling_unit: 10\n", "site.yaml");
    auto const config = must(read_experiment_config(site));
    yaml::Location const non_user_sources[] = {site.location()};
    BOOST_TEST(explain(find_keys_without_effect(config.effective, non_user_sources)) == "");
    BOOST_TEST(contains(explain(find_keys_without_effect(config.effective, {})), "site.yaml:5:18"));
}

BOOST_AUTO_TEST_CASE(of_a_part_only_keys_that_never_have_an_effect_are_known) {
    auto const found = explain(find_keys_without_effect_in_part(
        layer("bind_mounts: [{host_path: /a, container_path: b}]\nresources: {weight: 10}\n")));
    BOOST_TEST(contains(found, "'resources.weight' has no effect"), found);
    BOOST_TEST(!contains(found, "bind_mounts"), found);
}

BOOST_AUTO_TEST_SUITE_END()
