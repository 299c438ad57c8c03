#include <det/foundation/files.hpp>
#include <det/foundation/sync_file.hpp>
#include <det/foundation/text.hpp>
#include <det/foundation/trusted_file.hpp>
#include <det/journal/event_log.hpp>

#include <algorithm>
#include <fmt/format.h>

#include "read_or_look_again.hpp"

namespace det::journal {
namespace {

constexpr std::size_t document_limit_bytes = std::size_t{1} << 20;

/// Lists events by number, then by kind. Ignores temporary and other names. A number above event_number_max
/// is an error: the events after it could not be counted on.
Result<std::vector<EventName>> list_events(std::filesystem::path const& directory) {
    DET_TRY_ASSIGN(auto const files, list_trusted_directory(directory));
    std::vector<EventName> names;
    for (auto const& file : files) {
        auto name = parse_event_name(file);
        if (!name) continue;
        if (name->number > event_number_max)
            return Error{
                codes::damaged,
                fmt::format("'{}' has a number above {}", (directory / file).string(), event_number_max),
                "no command writes such a file: remove it"};
        names.push_back(*std::move(name));
    }
    std::sort(names.begin(), names.end());
    return names;
}

/// Links the file of an event into place. Its bytes are on the disk before it has the name, so that a power
/// failure leaves no empty event; the name is synced too, or added to `syncs` if there is one. Returns false
/// if the name is taken.
Result<bool> write_synced(std::filesystem::path const& directory, EventName const& name,
                          std::string_view text, SyncThread* syncs = nullptr) {
    auto const path = directory / to_string(name);
    DET_TRY_ASSIGN(bool const is_new, write_new_file(path, text, 0600, Durability::power_loss));
    if (!is_new) return false;
    DET_TRY(sync_directory(directory, syncs));
    return true;
}

Result<std::vector<Event>> load_named(std::filesystem::path const& directory,
                                      std::vector<EventName> const& names) {
    std::vector<Event> events;
    for (auto const& name : names) {
        auto const path = directory / to_string(name);
        DET_TRY_ASSIGN(auto const text, read_trusted_file(path, document_limit_bytes));
        auto event = parse_event(text);
        if (!event) return std::move(event).error().while_doing(fmt::format("reading '{}'", path.string()));
        events.push_back(*std::move(event));
    }
    return events;
}

Result<std::string> read_desired_file(std::filesystem::path const& path) {
    return read_trusted_file(path, document_limit_bytes);
}

Result<DesiredState> parse_desired_file(std::filesystem::path const& path, Result<std::string> const& text) {
    if (!text && text.error().code == codes::no_such_file) return DesiredState::run;
    if (!text) return text.error();
    auto desired = parse_desired(*text);
    if (!desired) return std::move(desired).error().while_doing(fmt::format("reading '{}'", path.string()));
    return desired;
}

}  // namespace

Status append_event(std::filesystem::path const& directory, Event const& event, SyncThread* syncs) {
    constexpr int attempts_max = 1000;
    auto const text = render_event(event);
    for (int attempt = 0; attempt < attempts_max; ++attempt) {
        DET_TRY_ASSIGN(auto const names, list_events(directory));
        EventName const next{names.empty() ? 1 : names.back().number + 1, event.kind};
        if (next.number > event_number_max) break;
        DET_TRY_ASSIGN(bool const is_new, write_synced(directory, next, text, syncs));
        if (is_new) return Ok{};
    }
    return Error{codes::file_system,
                 fmt::format("found no free number for an event in '{}'", directory.string())};
}

Result<std::vector<Event>> load_events(std::filesystem::path const& directory) {
    DET_TRY_ASSIGN(auto const names, list_events(directory));
    return load_named(directory, names);
}

Result<bool> append_event_at(std::filesystem::path const& directory, std::uint32_t number,
                             Event const& event) {
    auto const text = render_event(event);
    if (text.size() > document_limit_bytes)
        return Error{codes::document_too_large,
                     fmt::format("an event of {} is larger than the {} that are read",
                                 format_size(text.size()), format_size(document_limit_bytes))};
    return write_synced(directory, {number, event.kind}, text);
}

Result<std::vector<Event>> load_event_sequence(std::filesystem::path const& directory) {
    DET_TRY_ASSIGN(auto const names, list_events(directory));
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (names[i].number == i + 1) continue;
        return Error{codes::damaged, fmt::format("'{}' has no event {}, or two", directory.string(), i + 1),
                     "put the missing file back: its changes are lost otherwise"};
    }
    return load_named(directory, names);
}

Result<DesiredState> load_desired(std::filesystem::path const& path) {
    return parse_desired_file(path, read_desired_file(path));
}

Result<DesiredState> load_newest_desired(std::filesystem::path const& path) {
    return parse_desired_file(path, read_or_look_again(path, [&] { return read_desired_file(path); }));
}

Status write_desired(std::filesystem::path const& path, DesiredState desired) {
    return write_file(path, render_desired(desired), 0600, Durability::power_loss);
}

}  // namespace det::journal
