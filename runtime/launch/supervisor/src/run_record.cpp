#include "run_record.hpp"

#include <det/checkpoint/run_checkpoints.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/list_numeric_names.hpp>
#include <det/foundation/shared_directory.hpp>
#include <det/foundation/temporary_names.hpp>
#include <det/foundation/text.hpp>
#include <det/foundation/trusted_file.hpp>
#include <det/foundation/uuid.hpp>
#include <det/journal/reader.hpp>
#include <det/protocol/host_list.hpp>
#include <det/protocol/rendezvous_file.hpp>

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <unistd.h>

#include "heartbeats.hpp"

namespace det::launch::supervisor {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view unfinished_prefix = ".new-";  // of a directory in runs/

/// Whether the chief's journal has a record that fulfils the predicate; false also if the journal can't be
/// read.
template <class Predicate>
bool any_report(RunLayout const& run, Predicate predicate) {
    auto const journal = journal::load_journal(run.chief_journal());
    return journal && std::any_of(journal->records.begin(), journal->records.end(), predicate);
}

std::string new_rendezvous() { return render_rendezvous_file({make_uuid() + make_uuid()}); }

}  // namespace

Result<RunId> RunRecord::create_next(BatchJob const& batch_job, TrialId trial) {
    auto const directory = batch_job.experiment.trial(trial.index);
    DET_TRY(make_directories(directory.runs()));
    DET_TRY_ASSIGN(auto const runs, list_numeric_names(directory.runs()));
    RunId const run{trial, runs.empty() ? 0 : runs.back() + 1};
    auto const layout = directory.run(run.number);
    // The directory gets its name by rename(2), which fails if there is one with files. After mkdir(2) an NFS
    // client whose reply was lost would take its own directory for that of another process.
    auto const fresh = temporary_name(directory.runs(), unfinished_prefix);
    auto made = make_own_directory(fresh);
    remove_old_temporaries(directory.runs(), unfinished_prefix, fresh);
    if (made) made = write_secret_file(fresh / layout.rendezvous().filename(), new_rendezvous());
    if (made && rename_own(fresh, layout.path()) == 0) return run;
    int const failed = errno;
    (void)remove_tree(fresh);
    DET_TRY(std::move(made));
    if (failed != ENOTEMPTY && failed != EEXIST)
        return os_error(fmt::format("make the directory '{}'", layout.path().string()), failed);
    return Error{codes::superseded, fmt::format("run {} of trial {} was begun by another process", run.number,
                                                to_string(trial))};
}

Result<RunRecord> RunRecord::begin(BatchJob const& batch_job, RunPlan const& plan, UtcTime now) {
    auto const& run = plan.id;
    auto const& resume = plan.resume;
    auto const directory = batch_job.experiment.trial(run.trial.index);
    auto const layout = directory.run(run.number);
    DET_TRY(write_secret_file(layout.rendezvous(), new_rendezvous()));
    // An earlier attempt may have left a part of the journal. The run belongs to this process: it has made
    // its directory.
    DET_TRY(remove_tree(layout.supervisor_journal()));
    DET_TRY_ASSIGN(auto life, journal::JournalWriter::create(layout.supervisor_journal()));
    RunStarted const started{now,
                             slurm::to_string(batch_job.job),
                             batch_job.incarnation.restart_count,
                             batch_job.incarnation.batch_host,
                             plan.hosts,
                             resume.restarts,
                             resume.checkpoint,
                             resume.steps_completed,
                             resume.progress,
                             static_cast<std::uint32_t>(plan.shape.shape.slots_per_node)};
    DET_TRY(life.append(started, Durability::power_loss));
    return RunRecord(run, directory, layout, std::move(life));
}

Status RunRecord::end(UtcTime now, lifecycle::RunOutcome const& outcome, int exit_code) {
    return life_.append(RunEnded{now, outcome.cause, outcome.next_action, exit_code, outcome.message,
                                 compress_host_list(outcome.bad_hosts)},
                        Durability::power_loss);
}

Status RunRecord::record_alert(AlertRaised const& alert) {
    return life_.append(alert, Durability::power_loss);
}

Status RunRecord::record_decision(SearchDecision const& decision) {
    return life_.append(decision, Durability::power_loss);
}

Status RunRecord::record_allocation(UtcTime now, slurm::JobStatus const& job) {
    if (!job.start_time) return Ok{};
    JobAllocated allocated{now, *job.start_time, job.submit_time, {}, static_cast<std::uint32_t>(job.nodes)};
    // For a job that runs, Slurm shows the end of its time limit.
    if (job.state == slurm::JobState::completing || slurm::is_over(job.state)) allocated.ended = job.end_time;
    return life_.append(allocated);
}

Status RunRecord::record_requeued(UtcTime now) { return life_.append(JobRequeued{now}); }

Status RunRecord::ask_to_stop(lifecycle::StopReason why) {
    return write_file(layout_.stop_request(), fmt::format("{}\n", lifecycle::to_string(why)));
}

Status RunRecord::write_stacks_request() { return write_file(layout_.hung(), ""); }

Status RunRecord::mark_abandoned() { return write_file(layout_.abandoned(), ""); }

Status RunRecord::note_living_tasks(int connected) {
    return write_file(layout_.living_tasks(), fmt::format("{}\n", connected));
}

void RunRecord::forget_living_tasks() { ::unlink(layout_.living_tasks().c_str()); }

void RunRecord::mark_killed_node() { (void)write_file(layout_.killed_node(), ""); }

bool RunRecord::remove_files_of_tasks() const {
    auto const names = list_directory(layout_.path());
    if (!names) return false;
    auto const has = [&](fs::path const& path) {
        return std::ranges::find(*names, path.filename().string()) != names->end();
    };
    bool const has_heartbeats = std::ranges::any_of(
        *names, [](auto const& name) { return name.ends_with(RunLayout::heartbeat_suffix); });
    if (has_heartbeats || has(layout_.abandoned())) return false;
    for (auto const& path :
         {layout_.rendezvous(), layout_.stop_request(), layout_.hung(), layout_.preempt_notice(),
          layout_.requeue_request(), layout_.chief_host(), layout_.done(), layout_.killed_node()}) {
        if (has(path)) ::unlink(path.c_str());
    }
    for (auto const& name : *names) {
        if (name.ends_with(".usage") || name.ends_with(RunLayout::left_suffix))
            ::unlink((layout_.path() / name).c_str());
    }
    return true;
}

bool RunRecord::was_preemption_acknowledged() const {
    return any_report(
        layout_, [](Record const& record) { return std::holds_alternative<PreemptionAcknowledged>(record); });
}

bool RunRecord::has_invalid_hyperparameters() const {
    return any_report(layout_, [](Record const& record) {
        auto const* report = std::get_if<EarlyExitReported>(&record);
        return report != nullptr && report->reason == early_exit_reasons::invalid_hyperparameters;
    });
}

std::size_t RunRecord::count_checkpoints() const {
    auto const journal = journal::load_journal(layout_.chief_journal());
    if (!journal) return 0;
    return static_cast<std::size_t>(std::ranges::count_if(journal->records, [](auto const& record) {
        return std::holds_alternative<CheckpointCommitted>(record);
    }));
}

std::optional<int> RunRecord::first_failure() const {
    auto const text = read_trusted_file(layout_.first_failure());
    return text ? parse_integer<int>(trim(*text)) : std::nullopt;
}

std::optional<bool> RunRecord::has_newer_run() const {
    auto const runs = list_numeric_names(trial_.runs());
    if (!runs) return std::nullopt;
    return !runs->empty() && runs->back() > id_.number;
}

std::vector<int> RunRecord::nodes_not_reached(int nodes, ReachedNodes const& known) const {
    auto const ends = journal::load_rank_failures(layout_);
    auto const files = NodeFiles::list(layout_);
    if (!ends || !ends->empty() || !files) return {};
    std::vector<int> missing;
    for (int node = 0; node < nodes; ++node) {
        bool const has_begun = known.has_connected(node) || files->has_heartbeat(node) ||
                               files->has_left(node) || files->has_output(node);
        if (!has_begun) missing.push_back(node);
    }
    auto const are_some = [&] { return std::ssize(missing) < nodes; };
    if (known.do_all_show && are_some()) return missing;
    std::erase_if(missing, [&](int node) { return !known.is_refused(node); });
    return are_some() ? missing : std::vector<int>();
}

bool RunRecord::has_progressed(std::uint64_t steps_before, checkpoint::Store const& store) const {
    auto const journal = journal::load_journal(layout_.chief_journal());
    if (!journal) return false;
    bool const has_told = std::ranges::any_of(journal->records, [&](auto const& record) {
        auto const* committed = std::get_if<CheckpointCommitted>(&record);
        return committed != nullptr && committed->steps_completed > steps_before;
    });
    if (has_told) return true;
    auto const known = checkpoint::checkpoints_of_run(journal->records, store);
    return known && !known->empty() && known->back().steps_completed > steps_before;
}

}  // namespace det::launch::supervisor
