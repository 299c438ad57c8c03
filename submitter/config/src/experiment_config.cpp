#include <det/config/experiment_config.hpp>
#include <det/config/layers.hpp>
#include <det/foundation/text.hpp>

#include "normalise.hpp"
#include "schema/assign.hpp"
#include "schema/tables.hpp"

namespace det::config {

Result<ExperimentConfig, Diagnostics> read_experiment_config(yaml::Node const& merged) {
    auto const effective = add_defaults(normalise(merged, schema::experiment));
    if (auto problems = check_completeness(effective); problems.has_errors()) return problems;
    ExperimentConfig config;
    schema::assign_object(&config, effective, schema::experiment);
    config.effective = effective;
    return config;
}

std::optional<SourceSpan> ExperimentConfig::where(std::string_view path) const {
    auto const* node = &effective;
    for (auto const key : split(path, '.')) {
        node = node->find(key);
        if (node == nullptr) return std::nullopt;
    }
    return node->location().span();
}

}  // namespace det::config
