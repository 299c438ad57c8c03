#pragma once
#include <det/foundation/files.hpp>

#include <filesystem>

namespace det::launch::supervisor {

/// Detects that a file has appeared in a run's directory, for example `noticed`: at the start of a grace
/// period Slurm signals only the steps of a job, not its batch script, so the wrapper of the first task
/// creates that file. Usually that task is on the supervisor's node, where inotify reports the file at once,
/// whatever the file system; otherwise the periodic check finds it.
class RunFileWatch {
public:
    explicit RunFileWatch(std::filesystem::path file);

    /// Readable when a file was created in the same directory on this node; -1 if inotify is not available.
    int fd() const { return events_.get(); }
    enum class Check { events, periodic };
    /// Returns true once, after the file has appeared. Check::events looks for the file only after an event.
    bool take(Check check);

private:
    /// Takes all events. Returns whether one was about the file.
    bool drain_events();

    std::filesystem::path file_;
    UniqueFd events_;
    bool was_taken_ = false;
};

}  // namespace det::launch::supervisor
