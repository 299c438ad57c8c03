#include <det/foundation/text.hpp>
#include <det/protocol/event.hpp>
#include <det/protocol/json.hpp>

#include <fmt/format.h>

#include "json_fields.hpp"

namespace det {

template <>
inline constexpr JsonField json_fields<Event>[] = {
    field<&Event::kind>("kind"),
    field<&Event::time>("time"),
    field<&Event::by>("by"),
    field<&Event::body>("body"),
};

Json to_json(Event const& event) { return fields_to_json(event); }

Result<Event> event_from_json(Json const& json) { return fields_from_json<Event>("event", json); }

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
