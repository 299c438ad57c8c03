#include <fmt/format.h>
#include <set>

#include "../check.hpp"
#include "assign.hpp"
#include "effects.hpp"
#include "shared_rules.hpp"
#include "tables.hpp"

// Tables of small sections: profiling, optimizations, log policies, retention, security, integrations.
namespace det::config::schema {
namespace {

constexpr Key profiling_keys[] = {
    {"enabled", boolean, "false", "true: profiling is on", into<&Profiling::enabled>,
     by_det_submit("nodes sample their metrics")},
    {"begin_on_batch", non_negative_integer, "0", "the first batch", into<&Profiling::begin_on_batch>,
     by_det_submit("the batches that trial profile shows", if_not_profiled)},
    {"end_after_batch", non_negative_integer, "", "the last batch", into<&Profiling::end_after_batch>,
     by_det_submit("the batches that trial profile shows", if_not_profiled)},
    {"sync_timings", boolean, "true", "Python: synchronise the GPU at the begin and end of each timing",
     into<&Profiling::sync_timings>,
     by_det_submit("timings of the Python package wait for the GPU", if_not_profiled)},
};

void require_profiling_order(yaml::Node const& value, Path const& path, Checker& checker) {
    require_order(value, "begin_on_batch", "end_after_batch", Bound::may_be_equal, path, checker);
}

constexpr std::string_view precision_choices[] = {"O0", "O1", "O2", "O3"};
constinit Type const precision = choice_of(precision_choices);
constexpr Key optimization_keys[] = {
    {"aggregation_frequency", positive_integer, "1", "number of batches between gradient exchanges", no_field,
     by_training_code("PyTorchTrial: batches between two steps of the optimizer", if_no_trial_class)},
    {"average_aggregated_gradients", boolean, "true", "divide gradients by aggregation_frequency", no_field,
     by_training_code("PyTorchTrial: whether gradients are divided", if_no_trial_class)},
    {"average_training_metrics", boolean, "true", "average metrics over all slots", no_field,
     by_training_code("PyTorchTrial: whether training metrics are those of all ranks", if_no_trial_class)},
    {"gradient_compression", boolean, "false", "exchange gradients in half precision", no_field,
     by_training_code("PyTorchTrial: gradients are sent in half precision", if_no_trial_class)},
    {"grad_updates_size_file", text, "", "file for gradient sizes", no_field,
     by_training_code("PyTorchTrial: the file with the sizes of gradients", if_no_trial_class)},
    {"mixed_precision", precision, "O0", "optimisation level of NVIDIA Apex", no_field,
     by_training_code("PyTorchTrial: automatic mixed precision", if_no_trial_class)},
    {"tensor_fusion_threshold", non_negative_integer, "64", "MB exchanged in one operation", no_field,
     by_launcher("horovodrun; PyTorchTrial: the size of the buckets of gradients",
                 if_no_trial_class_or_horovod)},
    {"tensor_fusion_cycle_time", non_negative_integer, "1", "ms between two exchanges", no_field,
     by_launcher("horovodrun", if_no_horovod)},
    {"auto_tune_tensor_fusion", boolean, "false", "tune both values at run time", no_field,
     by_launcher("horovodrun; PyTorchTrial: finds that size", if_no_trial_class_or_horovod)},
};

constexpr std::string_view action_choices[] = {"cancel_retries", "exclude_node"};
constexpr std::string_view action_error = R"(must be one of "cancel_retries" or "exclude_node")";
constinit Type const action_word{
    .shape = Shape::choice, .determined_message = action_error, .choices = action_choices};
constexpr Key legacy_action_keys[] = {
    required({"type", action_word, "", "cancel_retries or exclude_node"}),
};
constinit Type const legacy_action = object_of(legacy_action_keys);
constexpr Type const* action_alternatives[] = {&action_word, &legacy_action};

yaml::Node action_as_word(yaml::Node const& value) {
    auto const* type = value.find("type");
    return type != nullptr ? *type : value;
}

constinit Type const action{.shape = Shape::either,
                            .expected = R"("cancel_retries" or "exclude_node")",
                            .determined_message = action_error,
                            .alternatives = action_alternatives,
                            .merge = Merge::atomic,
                            .normalise = action_as_word};

constexpr Key log_policy_keys[] = {
    {"name", text, "", "a name, to replace the policy or switch it off", into<&LogPolicy::name>,
     by_det_submit("without an action the end of the run names the policy; a default one gets its pattern")},
    {"pattern", text, "", "a regular expression that a log line matches", into<&LogPolicy::pattern>},
    {"action", action, "", "cancel_retries: no further restart; exclude_node: restart elsewhere",
     into<&LogPolicy::action>},
};

void require_name_or_action(yaml::Node const& value, Path const& path, Checker& checker) {
    auto const has = [&](std::string_view key) {
        auto const* found = value.find(key);
        return found != nullptr && !found->is_null();
    };
    if (has("name") || (has("pattern") && has("action"))) return;
    checker.refuse_value(value, path.text() + R"(: "name" must be set, or "pattern" and "action")");
}

constinit Type const log_policy{
    .shape = Shape::object, .keys = log_policy_keys, .rule = require_name_or_action};

void require_different_names(yaml::Node const& value, Path const& path, Checker& checker) {
    std::set<std::string> names;
    for (auto const& item : value.items()) {
        auto const* name = item.find("name");
        if (name == nullptr || !name->is_text() || names.insert(*name->text()).second) continue;
        checker.refuse_value(*name,
                             fmt::format("{} have duplicated names \"{}\"", path.text(), *name->text()), {},
                             fmt::format("log_policies have duplicated names \"{}\"", *name->text()));
    }
}

constinit Type const retention_days = integer_between(-1, 32767);
constexpr Key retention_keys[] = {
    {"log_retention_days", retention_days, "", "-1: forever; 0: until the next clean-up"},
};

constexpr Key kerberos_keys[] = {{"config_file", text, "", ""}};
constinit Type const kerberos = object_of(kerberos_keys);
constexpr Key security_keys[] = {{"kerberos", kerberos, "", ""}};

constexpr Key pachd_keys[] = {required({"host", text, "", "the host name"}),
                              required({"port", integer, "", "the port number"})};
constexpr Key proxy_keys[] = {required({"scheme", text, "", "http or https"}),
                              required({"host", text, "", "the host name"}),
                              required({"port", integer, "", "the port number"})};
constexpr Key dataset_keys[] = {
    required({"project", text, "", "the project"}), required({"repo", text, "", "the repository"}),
    required({"commit", text, "", "the commit"}), required({"branch", text, "", "the branch"}),
    required(secret({"token", text, "", "the access token"}))};
constinit Type const pachd = object_of(pachd_keys);
constinit Type const proxy = object_of(proxy_keys);
constinit Type const dataset = object_of(dataset_keys);
constexpr Key pachyderm_keys[] = {{"pachd", pachd, "", "the server"},
                                  {"proxy", proxy, "", "the proxy"},
                                  {"dataset", dataset, "", "the data"}};
constinit Type const pachyderm = object_of(pachyderm_keys);
constexpr Key webhook_keys[] = {{"webhook_id", integer_list, "", "webhook ids"},
                                {"webhook_name", text_list, "", "webhook names"},
                                {"exclude", boolean, "false", "true: all webhooks except these"}};
constinit Type const webhooks = object_of(webhook_keys);
constexpr Key integration_keys[] = {
    {"pachyderm", pachyderm, "", "data from Pachyderm", no_field,
     no_effect("det-submit takes no data from Pachyderm; name its files in the code")},
    {"webhooks", webhooks, "", "webhooks that receive state changes", no_field,
     by_det_submit("slurm.event_hook finds it in the event", if_without_hook)}};

}  // namespace

constinit Type const profiling{
    .shape = Shape::object, .keys = profiling_keys, .rule = require_profiling_order};
constinit Type const optimizations = object_of(optimization_keys);
constinit Type const log_policies{.shape = Shape::list,
                                  .item = &log_policy,
                                  .merge = Merge::by_item_key,
                                  .item_key = "name",
                                  .default_items = default_log_policies,
                                  .rule = require_different_names};
constinit Type const retention_policy = object_of(retention_keys);
constinit Type const security = object_of(security_keys);
constinit Type const integrations = object_of(integration_keys);

}  // namespace det::config::schema
