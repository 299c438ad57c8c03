#pragma once
#include <det/foundation/clock.hpp>
#include <det/protocol/document.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace det {

/// Something that any det-submit may say of an experiment: one file each, events/<number>-<kind>.json. Two
/// that were written at the same time may share a number; they are ordered by kind then, and must not depend
/// on it.
struct Event {
    std::string kind;  // created, archived, renamed ...: lower case and digits
    UtcTime time;
    std::string by;  // user@host
    JsonValue body;
};

namespace event_kinds {
// Bodies: see array_job.hpp.
inline constexpr std::string_view created = "created";
inline constexpr std::string_view resubmitted = "resubmitted";
inline constexpr std::string_view continued = "continued";
}  // namespace event_kinds

std::string render_event(Event const& event);
Result<Event> parse_event(std::string_view text);

/// "12-created.json"
struct EventName {
    std::uint32_t number;
    std::string kind;
    friend auto operator<=>(EventName const&, EventName const&) = default;
};
std::string to_string(EventName const& name);
std::optional<EventName> parse_event_name(std::string_view file_name);

}  // namespace det
