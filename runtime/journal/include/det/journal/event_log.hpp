#pragma once
#include <det/foundation/sync_file.hpp>
#include <det/protocol/desired_state.hpp>
#include <det/protocol/event.hpp>

#include <filesystem>
#include <vector>

namespace det::journal {

/// Adds an event with the number after the last one. Uses link(2) instead of a lock: of two concurrent
/// writers of the same kind of event, one gets the number and the other one tries the next number. Concurrent
/// events of different kinds may get the same number. The event is synced to disk, with `syncs` its name only
/// after syncs->join(). codes::damaged if a file has a number above event_number_max, codes::file_system if
/// no number is free.
Status append_event(std::filesystem::path const& events_directory, Event const& event,
                    SyncThread* syncs = nullptr);

/// Reads all events in the order of their numbers, those with the same number in the order of their kinds.
/// codes::damaged if a file has a number above event_number_max or is not an event.
Result<std::vector<Event>> load_events(std::filesystem::path const& events_directory);

// A sequence of events: all writers append events of one kind, and the numbers count up from 1 without gaps.
// A writer reads the sequence, decides, and appends under the next number. If that number is taken, its
// decision does not rest on all events, and it has to begin anew. So the sequence is a journal of many
// writers whose decisions are made one after the other.

/// Appends the event that has this number. The event is synced to disk. Returns false if another writer has
/// taken the number. codes::document_too_large if load_event_sequence() could not read it.
Result<bool> append_event_at(std::filesystem::path const& events_directory, std::uint32_t number,
                             Event const& event);

/// Reads a sequence; empty if the directory does not exist. codes::damaged as load_events(), and if a number
/// is missing or there are two files of one number.
Result<std::vector<Event>> load_event_sequence(std::filesystem::path const& events_directory);

/// Reads a `desired` file. Returns DesiredState::run if there is none.
Result<DesiredState> load_desired(std::filesystem::path const& path);
/// The same for a decision: also finds a file that another host has just written. An NFS client may remember
/// for a minute that a file is absent, and asks the server when its directory is opened.
Result<DesiredState> load_newest_desired(std::filesystem::path const& path);
/// Replaces a `desired` file atomically. The new file is synced to disk.
Status write_desired(std::filesystem::path const& path, DesiredState desired);

}  // namespace det::journal
