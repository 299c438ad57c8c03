// Durations, and slurm.idle_timeout: a duration, or a map of a duration and an action.
#include <det/foundation/text.hpp>

#include <cstdint>
#include <fmt/format.h>
#include <optional>

#include "../check.hpp"
#include "assign.hpp"
#include "tables.hpp"

namespace det::config::schema {
namespace {

constexpr std::int64_t idle_seconds_min = 10;
constexpr std::int64_t idle_seconds_max = 31'536'000;

/// Parses "90s", "30m", "2h" or "1d".
std::optional<std::int64_t> parse_idle_duration(std::string_view text) {
    if (text.empty()) return std::nullopt;
    std::int64_t unit_s = 0;
    switch (text.back()) {
        case 's':
            unit_s = 1;
            break;
        case 'm':
            unit_s = 60;
            break;
        case 'h':
            unit_s = 3600;
            break;
        case 'd':
            unit_s = 86'400;
            break;
        default:
            return std::nullopt;
    }
    auto const count = parse_integer<std::uint32_t>(text.substr(0, text.size() - 1));
    if (!count) return std::nullopt;
    return *count * unit_s;
}

void require_idle_duration(yaml::Node const& value, Path const& path, Checker& checker) {
    if (!value.is_text()) return;
    auto const seconds = parse_idle_duration(*value.text());
    if (seconds && *seconds >= idle_seconds_min && *seconds <= idle_seconds_max) return;
    checker.refuse_value(value,
                         fmt::format("{} must be a duration from 10 seconds to a year, found '{}'",
                                     path.text(), *value.text()),
                         "for example 30m, 2h or 1800 (seconds)");
}

yaml::Node idle_duration_in_seconds(yaml::Node const& value) {
    if (!value.is_text()) return value;
    auto const seconds = parse_idle_duration(*value.text());
    return seconds ? yaml::Node(yaml::Node::Scalar(*seconds), value.location()) : value;
}

constinit Type const idle_seconds = integer_between(idle_seconds_min, idle_seconds_max);
constexpr Type const* idle_duration_alternatives[] = {&idle_seconds, &text};
}  // namespace

constinit Type const duration{.shape = Shape::either,
                              .expected = "a duration",
                              .hint = "for example 30m, 2h or 1800 (seconds)",
                              .alternatives = idle_duration_alternatives,
                              .rule = require_idle_duration,
                              .normalise = idle_duration_in_seconds};

namespace {

constexpr std::string_view idle_action_choices[] = {"warn", "end"};
constinit Type const idle_action = choice_of(idle_action_choices);
constexpr Key idle_timeout_keys[] = {
    required({"after", duration, "", "how long a run may be idle: 30m, 2h or seconds", no_field,
              by_det_submit("when a run is idle")}),
    {"action", idle_action, "warn", "warn: only say that a run is idle; end: end it", no_field,
     by_det_submit("what follows when a run is idle")},
};
constinit Type const idle_timeout_object = object_of(idle_timeout_keys);

/// \return A duration as the map {after: duration}.
yaml::Node idle_timeout_as_object(yaml::Node const& value) {
    if (!value.is_text() && value.integer() == nullptr) return value;
    std::vector entries = {yaml::Node::Entry{"after", value.location(), value}};
    return yaml::Node(std::move(entries), value.location());
}

constexpr Type const* idle_timeout_alternatives[] = {&idle_seconds, &text, &idle_timeout_object};

}  // namespace

constinit Type const idle_timeout{.shape = Shape::either,
                                  .expected = "a duration or a map",
                                  .hint = "for example 30m, or {after: 30m, action: end}",
                                  .alternatives = idle_timeout_alternatives,
                                  .merge = Merge::atomic,
                                  .rule = require_idle_duration,
                                  .normalise = idle_timeout_as_object};

}  // namespace det::config::schema
