#include "project.hpp"

#include <det/foundation/text.hpp>

#include <algorithm>

namespace det::plan {
namespace {

constexpr std::string_view label_source = "label";

std::string labels_with(std::string_view prefix, std::vector<std::string> const& labels) {
    std::vector<std::string> names;
    for (auto const& label : labels) {
        if (label.starts_with(prefix) && label.size() > prefix.size())
            names.push_back(label.substr(prefix.size()));
    }
    std::sort(names.begin(), names.end());
    return join(names, ",");
}

/// Slurm keeps what it is given: quotes and what ends a line would stay in its accounting.
std::string as_wckey(std::string text) {
    std::erase_if(text, [](unsigned char c) { return c < ' ' || c == 0x7f || c == '"'; });
    return text;
}

}  // namespace

std::string project_name(std::string_view source, config::ExperimentConfig const& config) {
    if (source == "project") return as_wckey(config.project);
    if (source == "workspace") return as_wckey(config.workspace);
    if (!source.starts_with(label_source)) return "";
    source.remove_prefix(label_source.size());
    if (source.starts_with(':')) source.remove_prefix(1);
    return as_wckey(labels_with(source, config.labels));
}

}  // namespace det::plan
