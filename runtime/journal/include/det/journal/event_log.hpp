#pragma once
#include <det/protocol/desired.hpp>
#include <det/protocol/event.hpp>

#include <filesystem>
#include <vector>

namespace det::journal {

/// Adds an event under the next free number: no lock, link(2) decides between two that write at once. It
/// survives a power cut from then on.
Status append_event(std::filesystem::path const& events_directory, Event const& event);

/// All of them, in order.
Result<std::vector<Event>> load_events(std::filesystem::path const& events_directory);

/// Absent: Desired::run.
Result<Desired> load_desired(std::filesystem::path const& path);
Status write_desired(std::filesystem::path const& path, Desired desired);

}  // namespace det::journal
