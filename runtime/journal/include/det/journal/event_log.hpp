#pragma once
#include <det/protocol/desired_state.hpp>
#include <det/protocol/event.hpp>

#include <filesystem>
#include <vector>

namespace det::journal {

/// Adds an event with the number after the last one. Uses link(2) instead of a lock: of two concurrent
/// writers of the same kind of event, one gets the number and the other one tries the next number. Concurrent
/// events of different kinds may get the same number. The event is synced to disk. codes::damaged if a file
/// has a number above event_number_max, codes::file_system if no number is free.
Status append_event(std::filesystem::path const& events_directory, Event const& event);

/// Reads all events in the order of their numbers, those with the same number in the order of their kinds.
/// codes::damaged if a file has a number above event_number_max or is not an event.
Result<std::vector<Event>> load_events(std::filesystem::path const& events_directory);

/// Reads a `desired` file. Returns DesiredState::run if there is none.
Result<DesiredState> load_desired(std::filesystem::path const& path);
/// Replaces a `desired` file atomically. The new file is synced to disk.
Status write_desired(std::filesystem::path const& path, DesiredState desired);

}  // namespace det::journal
