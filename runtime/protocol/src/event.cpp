#include <det/foundation/text.hpp>
#include <det/protocol/event.hpp>
#include <det/protocol/json.hpp>

#include <fmt/format.h>

namespace det {

Json to_json(Event const& event) {
    return {{"kind", event.kind}, {"time", format_utc(event.time)}, {"by", event.by}, {"body", event.body}};
}

Result<Event> event_from_json(Json const& json) {
    DET_TRY_ASSIGN(auto event, decode_json("event", [&] {
                       return Event{json.at("kind"), {}, json.at("by"), json.at("body")};
                   }));
    auto const time = parse_utc(json.value("time", ""));
    if (!time) return Error{codes::damaged, "'event' does not hold what it should: no time"};
    event.time = *time;
    return event;
}

std::string render_event(Event const& event) { return render_document(documents::event, to_json(event)); }

Result<Event> parse_event(std::string_view text) {
    DET_TRY_ASSIGN(auto const json, parse_document(documents::event, text));
    return event_from_json(json);
}

std::string to_string(EventName const& name) { return fmt::format("{}-{}.json", name.number, name.kind); }

std::optional<EventName> parse_event_name(std::string_view file_name) {
    constexpr std::string_view ending = ".json";
    auto const dash = file_name.find('-');
    if (dash == std::string_view::npos || !file_name.ends_with(ending)) return std::nullopt;
    auto const number = parse_integer<std::uint32_t>(file_name.substr(0, dash));
    auto const kind = file_name.substr(dash + 1, file_name.size() - dash - 1 - ending.size());
    if (!number || kind.empty()) return std::nullopt;
    return EventName{*number, std::string(kind)};
}

}  // namespace det
