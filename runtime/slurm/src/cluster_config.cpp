#include <det/foundation/text.hpp>
#include <det/slurm/cluster_config.hpp>

#include <algorithm>

namespace det::slurm {

std::optional<std::string> ClusterConfig::find(std::string_view name) const {
    auto const found = settings_.find(name);
    if (found == settings_.end()) return std::nullopt;
    return found->second;
}

std::optional<std::int64_t> ClusterConfig::find_number(std::string_view name) const {
    auto const value = find(name);
    if (!value) return std::nullopt;
    return parse_integer<std::int64_t>(value->substr(0, value->find(' ')));
}

std::optional<std::string> ClusterConfig::find_option_value(std::string_view name,
                                                            std::string_view option) const {
    auto const value = find(name);
    if (!value) return std::nullopt;
    for (auto const each : split(*value, ',')) {
        auto const equals = each.find('=');
        if (trim(each.substr(0, equals)) != option) continue;
        return std::string(equals == std::string_view::npos ? "" : trim(each.substr(equals + 1)));
    }
    return std::nullopt;
}

bool ClusterConfig::has_option(std::string_view name, std::string_view option) const {
    return find_option_value(name, option).has_value();
}

bool ClusterConfig::has_equal_priorities() const {
    if (!find("PriorityType").value_or("").ends_with("multifactor")) return false;
    return std::none_of(settings_.begin(), settings_.end(), [](auto const& setting) {
        auto const& [name, value] = setting;
        return std::string_view(name).starts_with("PriorityWeight") && !value.empty() && value != "0";
    });
}

ClusterConfig parse_cluster_config(std::string_view scontrol_output) {
    ClusterConfig::Settings settings;
    for (auto const line : split_lines(scontrol_output)) {
        auto const equals = line.find('=');
        if (equals == std::string_view::npos) continue;
        auto const value = trim(line.substr(equals + 1));
        settings.emplace(trim(line.substr(0, equals)), value == "(null)" ? "" : value);
    }
    return ClusterConfig(std::move(settings));
}

}  // namespace det::slurm
