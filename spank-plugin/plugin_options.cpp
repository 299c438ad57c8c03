// SPDX-License-Identifier: GPL-2.0-or-later
// Part of the plugin, which includes Slurm's headers, which are GPL-2.0-or-later.
#include "plugin_options.hpp"

#include <det/foundation/text.hpp>

#include <algorithm>

namespace det::spank {
namespace {

Error invalid_argument(std::string message) {
    return Error{
        codes::usage, "plugstack.conf: " + std::move(message),
        "wrapper=/path/to/det-wrap-rank, wrap=rank|off and partitions=NAME,... may follow the plugin's path"};
}

Status take_wrapper(std::string_view value, Settings& settings) {
    settings.wrapper = value;
    if (value.starts_with('/')) return Ok{};
    return invalid_argument("wrapper='" + settings.wrapper + "' is not an absolute path");
}

Status take_wrap(std::string_view value, Settings& settings) {
    auto const wrap = parse_wrap(value);
    if (!wrap) return invalid_argument("wrap='" + std::string(value) + "' is neither rank nor off");
    settings.wrap = *wrap;
    return Ok{};
}

Status take_partitions(std::string_view value, Settings& settings) {
    for (auto const name : split(value, ',')) {
        if (name.empty())
            return invalid_argument("partitions='" + std::string(value) + "' has an empty name");
        settings.partitions.emplace_back(name);
    }
    return Ok{};
}

struct Argument {
    std::string_view name;
    Status (*take)(std::string_view value, Settings& settings);
};

constexpr Argument known_arguments[] = {
    {"wrapper", take_wrapper}, {"wrap", take_wrap}, {"partitions", take_partitions}};

constexpr std::size_t path_max_bytes = 4096;
constexpr std::string_view set_all = "env";  // --det=env

std::optional<std::string> const& value_of(OptionValues const& values, Option option) {
    return values[static_cast<std::size_t>(option)];
}

Error invalid_option(std::string message) { return Error{codes::usage, std::move(message)}; }

/// Whether --det enables the plugin. Slurm passes an option without a value as "(null)" through the
/// environment of a batch script.
std::optional<bool> parse_switch(std::string_view text) {
    if (text.empty() || text == "(null)" || text == "on" || text == set_all) return true;
    if (text == "off") return false;
    return std::nullopt;
}

bool is_log_path(std::string_view text) {
    return !text.empty() && text.size() < path_max_bytes && !text.ends_with('/') &&
           text.find('\0') == std::string_view::npos;
}

std::string number_before_extension(std::string path, int node) {
    auto const slash = path.rfind('/');
    auto const name = slash == std::string::npos ? 0 : slash + 1;
    auto const dot = path.rfind('.');
    bool const has_extension = dot != std::string::npos && dot > name;
    path.insert(has_extension ? dot : path.size(), "-" + std::to_string(node));
    return path;
}

}  // namespace

std::optional<Wrap> parse_wrap(std::string_view text) {
    if (text == "rank") return Wrap::rank;
    if (text == "off") return Wrap::off;
    return std::nullopt;
}

bool Settings::is_active_in(std::string_view partition) const {
    return partitions.empty() || std::ranges::find(partitions, partition) != partitions.end();
}

std::string Settings::launcher() const {
    return wrapper.empty() ? "" : wrapper.substr(0, wrapper.rfind('/') + 1) + "det-launch";
}

Result<Settings> parse_settings(std::vector<std::string_view> const& arguments) {
    Settings settings;
    for (auto const argument : arguments) {
        auto const equals = argument.find('=');
        auto const name = argument.substr(0, equals);
        auto const* const known = std::ranges::find(known_arguments, name, &Argument::name);
        if (known == std::end(known_arguments) || equals == std::string_view::npos) {
            return invalid_argument("unknown argument '" + std::string(argument) + "'");
        }
        DET_TRY(known->take(argument.substr(equals + 1), settings));
    }
    return settings;
}

Status check_option(Option option, std::string_view value) {
    std::string const quoted = "'" + std::string(value.substr(0, 200)) + "'";
    switch (option) {
        case Option::det:
            if (!parse_switch(value))
                return invalid_option("--det=" + quoted + ": it is --det, --det=on, --det=env or --det=off");
            return Ok{};
        case Option::wrap:
            if (!parse_wrap(value)) return invalid_option("--det-wrap=" + quoted + ": it is rank or off");
            return Ok{};
        case Option::log:
            if (!is_log_path(value))
                return invalid_option("--det-log=" + quoted + ": it is the path of a file");
            return Ok{};
        case Option::launch:
            if (!parse_launch(value))
                return invalid_option("--det-launch=" + quoted + ": it is node or rank");
            return Ok{};
        case Option::requeue:
            return Ok{};
    }
    return invalid_option("unknown option");
}

Result<PluginOptions> parse_options(OptionValues const& values) {
    PluginOptions options;
    for (std::size_t i = 0; i < option_count; ++i) {
        if (!values[i]) continue;
        DET_TRY(check_option(static_cast<Option>(i), *values[i]));
        if (static_cast<Option>(i) == Option::requeue)
            options.is_requeued = true;
        else
            options.enabled = true;
    }
    if (auto const& value = value_of(values, Option::det)) {
        options.enabled = parse_switch(*value);
        if (*value == set_all) options.rank_variables = RankVariables::all;
    }
    if (auto const& value = value_of(values, Option::launch)) options.launch = parse_launch(*value);
    if (auto const& value = value_of(values, Option::wrap)) options.wrap = parse_wrap(*value);
    if (auto const& value = value_of(values, Option::log)) options.log = *value;
    if (options.wrap == Wrap::off && !options.log.empty()) {
        return invalid_option("--det-log needs the wrapper that --det-wrap=off leaves out");
    }
    return options;
}

std::string expand_log_path(std::string_view pattern, TaskIdentity const& task, std::string_view node_name) {
    std::string path;
    bool distinguishes_nodes = task.cross_size == 1;
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        char const next = pattern[i] == '%' && i + 1 < pattern.size() ? pattern[i + 1] : '\0';
        switch (next) {
            case 'j':
                path += task.job_id;
                break;
            case 's':
                path += task.step_id;
                break;
            case 'n':
                path += std::to_string(task.cross_rank);
                break;
            case 'N':
                path += node_name;
                break;
            case '%':
                path += '%';
                break;
            default:
                path += pattern[i];
                continue;
        }
        distinguishes_nodes = distinguishes_nodes || next == 'n' || next == 'N';
        ++i;
    }
    return distinguishes_nodes ? path : number_before_extension(std::move(path), task.cross_rank);
}

}  // namespace det::spank
