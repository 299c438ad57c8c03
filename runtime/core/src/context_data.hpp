#pragma once
#include <det/checkpoint/memory_directory.hpp>
#include <det/checkpoint/store.hpp>
#include <det/collectives/distributed_context.hpp>
#include <det/core/info.hpp>
#include <det/foundation/clock.hpp>
#include <det/preemption/notice_page.hpp>
#include <det/preemption/term_handler.hpp>
#include <det/telemetry/reporter.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include "continued_state.hpp"
#include "rank_reports.hpp"

namespace det::core {

/// The data that all parts of a Context share.
struct ContextData {
    Clock& clock;
    std::optional<Info> info;
    collectives::DistributedContext distributed;
    std::unique_ptr<checkpoint::Store> store;
    std::unique_ptr<telemetry::Reporter> reporter;                      // on the chief, in an experiment
    std::optional<preemption::NoticePage> notice;                       // in a run
    std::unique_ptr<preemption::TermHandler> term_handler = nullptr;    // in a run, until close()
    std::optional<std::chrono::steady_clock::time_point> job_end = {};  // if Slurm reports an end time
    std::function<void(std::string const& warning)> warn = {};
    std::unique_ptr<RankReports> rank_reports = nullptr;  // on other ranks, in an experiment
    std::chrono::milliseconds storage_timeout{0};         // for which failing writes are repeated
    checkpoint::MemoryPlace memory_place = {};            // in an experiment; else without a job
    std::string switch_name = {};                         // of this node; empty if it is unknown
    std::unique_ptr<ContinuedState> continued = std::make_unique<ContinuedState>();

    bool is_preempted = false;                 // should_preempt() has returned true on this rank
    std::optional<UtcTime> preempted_at = {};  // when it did so first
    bool is_preemption_acknowledged = false;
    bool acknowledgement_failed = false;  // the record could not be written or synced

    bool in_experiment() const { return info && info->trial; }
    /// The allocation id of the run; empty outside of an experiment.
    std::string run_name() const { return in_experiment() ? info->cluster.allocation_id : ""; }
    /// Fencing: fails with codes::superseded if a run of the trial with a higher number has begun. Called
    /// before every commit.
    Status require_newest() const;
    /// Whether the ranks are to stop: this rank's node has a notice, or the ranks have agreed to stop.
    bool has_notice() const { return is_preempted || (notice && notice->is_raised()); }
    /// The reporter of this rank's metrics; nullptr outside of an experiment.
    Result<telemetry::Reporter*> metrics_reporter() const;
    /// Writes the reports of this rank that were made before.
    Status flush_reports() const;
    /// As flush_reports(), without repeating a write that fails.
    Status flush_reports_once() const;
    /// Writes all reports of this rank. Nothing writes later ones.
    Status close_reports() const;
    /// Records on the chief that the program continues from a state in memory, if it has loaded one.
    /// \param steps_completed of what it reports or saves now
    Status note_steps(std::uint64_t steps_completed) const {
        return continued->confirm(reporter.get(), steps_completed);
    }
    /// Records the acknowledgement of a preemption. Does nothing if it is recorded already, or if this rank
    /// writes no journal.
    Status acknowledge_preemption();
    /// Records the acknowledgement if the last attempt failed. Without it, a preempted run whose program
    /// ignored the error counts as finished.
    Status retry_acknowledgement();
    /// The earliest time at which Slurm or the supervisor may kill the ranks
    /// (Checkpoint::save_before_preemption); nullopt if no limit is known.
    std::optional<std::chrono::steady_clock::time_point> killed_at() const;
};

/// Fails with codes::misuse on every rank except the chief.
Status require_chief(ContextData const& data, std::string_view call);

}  // namespace det::core
