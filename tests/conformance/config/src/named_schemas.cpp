#include <det/foundation/text.hpp>

#include <algorithm>

#include "determined_schemas.hpp"
#include "schema/tables.hpp"

namespace det::config::conformance {
namespace {

using schema::Shape;
using schema::Type;
using yaml::Kind;

/// A schema of Determined's and its path in the key tables: keys from `root` down. [] stands for the items of
/// a list or map, {} for the map form of a value that has several forms.
struct SchemaPath {
    std::string_view name;
    std::string_view path;
    std::string_view member = {};
    Type const& root = schema::experiment;
};

constexpr SchemaPath schema_paths[] = {
    {"experiment", ""},
    {"bind-mounts", "bind_mounts"},
    {"bind-mount", "bind_mounts.[]"},
    {"checkpoint-storage", "checkpoint_storage"},
    {"shared-fs", "checkpoint_storage", "shared_fs"},
    {"directory", "checkpoint_storage", "directory"},
    {"s3", "checkpoint_storage", "s3"},
    {"gcs", "checkpoint_storage", "gcs"},
    {"azure", "checkpoint_storage", "azure"},
    {"hdfs", "checkpoint_storage", "hdfs"},
    {"tensorboard-storage", "tensorboard_storage"},
    {"environment", "environment"},
    {"environment-image", "environment.image"},
    {"environment-image-map", "environment.image.{}"},
    {"environment-variables", "environment.environment_variables"},
    {"environment-variables-map", "environment.environment_variables.{}"},
    {"proxy-ports", "environment.proxy_ports"},
    {"proxy-port", "environment.proxy_ports.[]"},
    {"registry-auth", "environment.registry_auth"},
    {"hpc-cluster-slurm", "slurm"},
    {"hpc-cluster-pbs", "pbs"},
    {"hyperparameters", "hyperparameters"},
    {"hyperparameter", "hyperparameters.[]"},
    {"hyperparameter-const", "", "const", schema::searched_hyperparameter},
    {"hyperparameter-int", "", "int", schema::searched_hyperparameter},
    {"hyperparameter-double", "", "double", schema::searched_hyperparameter},
    {"hyperparameter-log", "", "log", schema::searched_hyperparameter},
    {"hyperparameter-categorical", "", "categorical", schema::searched_hyperparameter},
    {"check-grid-hyperparameter", "", "", schema::grid_hyperparameter},
    {"searcher", "searcher"},
    {"searcher-single", "searcher", "single"},
    {"searcher-random", "searcher", "random"},
    {"searcher-grid", "searcher", "grid"},
    {"searcher-adaptive-asha", "searcher", "adaptive_asha"},
    {"searcher-async-halving", "searcher", "async_halving"},
    {"searcher-custom", "searcher", "custom"},
    {"searcher-adaptive", "searcher", "adaptive"},
    {"searcher-adaptive-simple", "searcher", "adaptive_simple"},
    {"searcher-sync-halving", "searcher", "sync_halving"},
    {"searcher-length", "searcher.max_length"},
    {"check-positive-length", "searcher.max_length.{}"},
    {"length", "min_validation_period"},
    {"resources", "resources"},
    {"devices", "resources.devices"},
    {"device", "resources.devices.[]"},
    {"log-policies", "log_policies"},
    {"log-policy", "log_policies.[]"},
    {"log-action", "log_policies.[].action"},
    {"log-legacy-action-cancel-retries", "log_policies.[].action.{}", "cancel_retries"},
    {"log-legacy-action-exclude-node", "log_policies.[].action.{}", "exclude_node"},
    {"optimizations", "optimizations"},
    {"profiling", "profiling"},
    {"reproducibility", "reproducibility"},
    {"retention-policy", "retention_policy"},
    {"security", "security"},
    {"kerberos", "security.kerberos"},
    {"integrations", "integrations"},
    {"pachyderm", "integrations.pachyderm"},
    {"pachyderm-pachd", "integrations.pachyderm.pachd"},
    {"pachyderm-proxy", "integrations.pachyderm.proxy"},
    {"pachyderm-dataset", "integrations.pachyderm.dataset"},
    {"webhooks", "integrations.webhooks"},
};

Type const* follow(Type const& from, std::string_view step) {
    if (step == "[]") {
        auto const* list = find_alternative(from, Kind::list);
        return list != nullptr ? list->item : nullptr;
    }
    auto const* map = find_alternative(from, Kind::map);
    if (map == nullptr || step == "{}") return map;
    auto const* key = find_key(*map, yaml::Node(), step);
    return key != nullptr ? &key->type : nullptr;
}

}  // namespace

std::string_view schema_name(std::string_view url) {
    auto name = url.substr(url.rfind('/') + 1);
    if (name.ends_with(".json")) name.remove_suffix(5);
    return name;
}

std::optional<NamedSchema> find_schema(std::string_view name) {
    auto const found = std::find_if(std::begin(schema_paths), std::end(schema_paths),
                                    [&](SchemaPath const& each) { return each.name == name; });
    if (found == std::end(schema_paths)) return std::nullopt;
    auto const* type = &found->root;
    for (auto const step : split(found->path, '.')) {
        if (!step.empty() && type != nullptr) type = follow(*type, step);
    }
    if (type == nullptr) return std::nullopt;
    return NamedSchema{type, found->member};
}

}  // namespace det::config::conformance
