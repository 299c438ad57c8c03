#pragma once
#include <det/foundation/clock.hpp>
#include <det/protocol/document.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace det {

/// An event of an experiment, which any det-submit process may add: one file events/<number>-<kind>.json per
/// event. Two concurrent events of different kinds may have the same number. They are then ordered by kind,
/// and their effect must not depend on the order.
struct Event {
    std::string kind;  // created, archived, renamed ...: lower-case letters, digits and '-'
    UtcTime time;
    std::string by;  // user@host
    JsonValue body;
};

namespace event_kinds {
// array_job.hpp defines the list `arrays` in the bodies of these events. `continued` also has `revision`,
// `trials` and `changes`.
inline constexpr std::string_view created = "created";
inline constexpr std::string_view resubmitted = "resubmitted";
inline constexpr std::string_view continued = "continued";
// What a user did to the experiment. `trial-killed` has `trial`; `moved` has `job` and `move`, in words.
inline constexpr std::string_view paused = "paused";
inline constexpr std::string_view activated = "activated";
inline constexpr std::string_view canceled = "canceled";
inline constexpr std::string_view killed = "killed";
inline constexpr std::string_view trial_killed = "trial-killed";
inline constexpr std::string_view moved = "moved";
}  // namespace event_kinds

std::string render_event(Event const& event);
Result<Event> parse_event(std::string_view text);

/// The body of the document.
Json to_json(Event const& event);
Result<Event> event_from_json(Json const& json);

/// The largest number of an event file. It leaves room for the number of the next event.
constexpr std::uint32_t event_number_max = 999'999'999;

/// The parts of a file name like "12-created.json".
struct EventName {
    std::uint32_t number;
    std::string kind;
    friend auto operator<=>(EventName const&, EventName const&) = default;
};
std::string to_string(EventName const& name);
std::optional<EventName> parse_event_name(std::string_view file_name);

}  // namespace det
