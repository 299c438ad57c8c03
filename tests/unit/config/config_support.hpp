#pragma once
#include <det/config/experiment_config.hpp>
#include <det/config/layers.hpp>
#include <det/yaml/render.hpp>

#include <nlohmann/json.hpp>

#include "check_result.hpp"

namespace det::config {

/// What a complete configuration needs besides the sections that a test is about.
inline constexpr std::string_view essentials =
    "name: x\nentrypoint: ./train\nsearcher: {name: single, metric: loss}\n"
    "checkpoint_storage: {type: shared_fs, host_path: /ckpt}\n";

inline yaml::Node layer(std::string_view text, std::string origin = "exp.yaml") {
    return must(parse_layer(text, std::move(origin)));
}

inline yaml::Node merged(std::string_view config, std::string_view template_text) {
    return must(merge_layers({Layer{layer(config)}, Layer{layer(template_text, "small.yaml")}}));
}

inline std::string json(yaml::Node const& node) { return yaml::to_json(node).dump(); }

/// The merged value under the key, as JSON.
inline std::string merged_key(std::string_view key, std::string_view config, std::string_view template_text) {
    auto const result = merged(config, template_text);
    auto const* value = result.find(key);
    return value != nullptr ? json(*value) : "absent";
}

inline ExperimentConfig read(std::string_view text) { return must(read_experiment_config(layer(text))); }

/// The complete configuration that consists of `text` and the essentials.
inline ExperimentConfig read_with(std::string_view text) {
    return must(read_experiment_config(merged(text, essentials)));
}

inline std::string sanity_of(std::string_view text) { return explain(check_sanity(layer(text))); }

/// The errors of the configuration that consists of `text` and the essentials.
inline std::string incomplete(std::string_view text) {
    return explain(must_fail(read_experiment_config(merged(text, essentials))));
}

inline bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

}  // namespace det::config
