// What `det-submit top` shows: the running trials of a user, and the lines of the screen.
#pragma once
#include <det/journal/tail.hpp>
#include <det/lifecycle/state.hpp>
#include <det/protocol/json.hpp>
#include <det/queue/find_job.hpp>
#include <det/tracker/history/journal_history.hpp>

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "experiment/training_progress.hpp"
#include "output/screen_terminal.hpp"
#include "output/table.hpp"
#include "session.hpp"

namespace det::cli {

/// The use of the GPUs of a run, by the newest report of each of its nodes.
struct GpuUse {
    std::size_t gpus = 0;
    double mean_percent = 0;
};

/// A trial whose job has nodes.
struct RunningTrial {
    TrialId id;
    std::string experiment_name;
    lifecycle::State state = lifecycle::State::running;
    std::string hosts;
    TrainingProgress training;
    std::string metric_name;     // that the searcher reads
    std::optional<GpuUse> gpus;  // of a profiled run
};

struct RunningTrials {
    UtcTime read_at;
    std::vector<RunningTrial> trials;  // those of the newest experiment first
    std::size_t queued_trials = 0;     // of the experiments that have jobs in the queue
};

/// Reads which trials of a root run now. Asks Slurm for the jobs of the user, and reads the journals of their
/// experiments only.
class RunningTrialsReader {
public:
    static Result<RunningTrialsReader> open(Session& session);

    /// Warns about an experiment that can't be read and leaves it out. Errors: those of Slurm.
    Result<RunningTrials> read();

private:
    RunningTrialsReader(Session& session, RootLayout root, queue::ExperimentJobOwner owner);
    RunningTrial read_trial(tracker::history::TrialView const& trial, ExperimentSpec const& spec);
    std::optional<GpuUse> read_gpu_use(RunLayout const& run, std::string const& hosts, UtcTime now);

    /// What a node has reported in the last minute. Each reading reads only what is new.
    class NodeReports {
    public:
        explicit NodeReports(std::filesystem::path const& journal) : tail_(journal) {}
        std::vector<Record> const& read_recent(UtcTime now);

    private:
        journal::JournalTail tail_;
        std::vector<Record> recent_;
    };

    Session& session_;
    RootLayout root_;
    queue::ExperimentJobOwner owner_;
    std::shared_ptr<tracker::history::JournalHistory> history_;
    std::map<std::filesystem::path, NodeReports> node_reports_;  // by their journals
};

/// The newest use of the GPUs in the reports of a node, by device. Reports older than a minute don't count:
/// profiling may have been switched off. Pure.
std::map<std::string, double> last_gpu_use(std::vector<Record> const& records, UtcTime now);

Json to_json(RunningTrials const& running);

/// A row for each trial. \param has_bars whether progress is a bar
Table running_trials_table(RunningTrials const& running, bool has_bars);

/// What `top` keeps between two readings.
struct TopView {
    RunningTrials running;
    std::size_t first_row = 0;  // on the screen
    bool has_colour = false;    // states have colours
    std::string message = {};   // shown in the last line
};

/// Returns the lines of a full screen, each `size.columns` wide. The only control bytes are the styles of the
/// title and of states. Corrects `first_row`. Pure.
std::vector<std::string> render_top(TopView& view, ScreenSize size);

}  // namespace det::cli
