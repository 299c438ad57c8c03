#pragma once
#include <det/foundation/files.hpp>
#include <det/protocol/directory_layout.hpp>

namespace det::launch::supervisor {

/// Detects that Slurm's notice has reached a run. At the start of a grace period Slurm signals only the steps
/// of a job, not its batch script: the wrapper of the first task creates a file in the run's directory.
/// Usually that task is on the supervisor's node, where inotify reports the file at once, whatever the file
/// system; otherwise the periodic check finds it.
class NoticeWatch {
public:
    explicit NoticeWatch(RunLayout const& run) : NoticeWatch(run, run.noticed()) {}
    /// Detects another file in the run's directory in the same way.
    NoticeWatch(RunLayout const& run, std::filesystem::path file);

    /// Readable when a file of the run was created on this node; -1 if inotify is not available.
    int fd() const { return events_.get(); }
    enum class Check { events, periodic };
    /// Returns true once, after the notice has come. Check::events looks for the file only after an event.
    bool take(Check check);

private:
    bool drain_events();

    std::filesystem::path file_;
    UniqueFd events_;
    bool was_taken_ = false;
};

}  // namespace det::launch::supervisor
