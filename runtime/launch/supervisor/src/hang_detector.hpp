#pragma once
#include <det/foundation/clock.hpp>
#include <det/protocol/directory_layout.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace det::launch::supervisor {

/// The signs of progress of a run.
struct ReportedProgress {
    std::uint64_t journal_bytes = 0;         // size of the chief's journal
    std::optional<UtcTime> files = {};       // newest change of the files of slurm.progress_glob
    std::vector<std::string> activity = {};  // of each node: the number in its beats, or in its file
    friend bool operator==(ReportedProgress const&, ReportedProgress const&) = default;
};

/// Reads the progress of a run from the shared file system.
/// \param activity of each node, as it came over the network; nullopt: its file is read
ReportedProgress read_progress(TrialLayout const& trial, RunLayout const& run,
                               std::vector<std::optional<std::string>> activity,
                               std::vector<std::string> const& progress_globs);

/// Decides whether a run hangs: its progress has not changed for slurm.hang_timeout. The timeout begins with
/// the run, so that a program that never reports a step hangs too. Pure.
class HangDetector {
public:
    using Time = std::chrono::steady_clock::time_point;

    /// \param timeout nullopt: the run never hangs
    HangDetector(std::optional<std::chrono::seconds> timeout, Time begin);

    /// When check() must be called; nullopt: never.
    std::optional<Time> next_check() const;
    /// Returns whether the run hangs. If the call is late by more than one interval, the job was probably
    /// suspended, and the timeout begins again.
    bool check(ReportedProgress const& progress, Time now);

private:
    /// Time between two checks: a tenth of the timeout, at least a second.
    std::chrono::milliseconds interval() const;

    std::optional<std::chrono::seconds> timeout_;
    ReportedProgress progress_ = {};
    Time changed_at_, next_check_at_;
};

}  // namespace det::launch::supervisor
