// SPDX-License-Identifier: GPL-2.0-or-later
// It includes Slurm's headers, which are GPL-2.0-or-later.
#include "settings.hpp"

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

}  // namespace

std::optional<Wrap> parse_wrap(std::string_view text) {
    if (text == "rank") return Wrap::rank;
    if (text == "off") return Wrap::off;
    return std::nullopt;
}

bool Settings::is_active_in(std::string_view partition) const {
    return partitions.empty() || std::ranges::find(partitions, partition) != partitions.end();
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

}  // namespace det::spank
