#pragma once
#include <det/foundation/clock.hpp>
#include <det/protocol/document.hpp>
#include <det/protocol/ids.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace det {

/// Why a run ended, as recorded by its supervisor.
enum class Cause {
    finished,   // the program created DET_DONE_FILE, or ended with exit code 0 and not because of a notice
    preempted,  // Slurm preempted the job, or the program stopped after another notice or asked for a requeue
    paused,     // the user paused the trial or its experiment
    canceled,   // the user cancelled the trial, or the job was cancelled in Slurm
    failed,     // the program or its setup failed, a node sent no heartbeat, or the search can't go on
    time_limit,    // the time limit of the job was near or reached
    node_failed,   // a node failed
    superseded,    // a newer run of the trial exists; this one writes nothing more
    not_launched,  // the step could not be started
    interrupted,   // the job was signalled, and slurmctld could not be asked for the reason or for a requeue
    stopped_by_search,        // the searcher ended the trial
    invalid_hyperparameters,  // the program reported that it can't train with them
    hung,                     // no step and no end of a collective operation for slurm.hang_timeout
    checkpoint_damaged,       // the checkpoint from which it continues is damaged, or all of the trial are
    idle,                     // it used its GPUs or CPUs too little for slurm.idle_timeout, with action: end
    waits_for_search,         // it has trained as far as the sampler of the search wants so far
    unknown,                  // a newer program has recorded it: see RunEnded::unknown_cause
};

/// The action of the supervisor after the end of a run.
enum class NextAction {
    stop,              // the trial has ended
    restart_in_place,  // a new run in the same allocation
    requeue,           // the supervisor requeues the job, or submits a new one in its place
    left_to_slurm,  // Slurm has already requeued or ended the job or does not answer, or a newer run exists
    requeue_held,   // requeued and held until the user activates it
};

std::string_view to_string(Cause cause);
std::string_view to_string(NextAction next_action);
/// Whether a run with this cause counts against max_restarts: failed or hung.
constexpr bool counts_against_max_restarts(Cause cause) {
    return cause == Cause::failed || cause == Cause::hung;
}

// The record types. In the journal `life` of a run, written by its supervisor:

struct RunStarted {
    UtcTime time;
    std::string job;  // job id in Slurm's form: "123_4"
    // SLURM_RESTART_COUNT; `job` and this number identify the incarnation of the job
    std::uint32_t restart_count = 0;
    std::string batch_host;
    std::string hosts;              // compressed
    std::uint32_t restarts = 0;     // number of failures before this run
    std::string latest_checkpoint;  // empty: the supervisor knows none
    std::uint64_t steps_completed = 0;
    /// Newest change of the files of slurm.progress_glob at the start of the run.
    std::optional<UtcTime> progress = {};
    std::uint32_t slots_per_node = 0;  // 0: not recorded, or a run without slots
};

struct RunEnded {
    UtcTime time;
    Cause cause = Cause::failed;
    NextAction next_action = NextAction::stop;
    int exit_code = 0;               // of the step; 128 + signal if a signal ended it
    std::string message;             // one readable line
    std::string bad_hosts = {};      // host list of nodes that the next run must not use; empty: none
    std::string unknown_cause = {};  // the recorded cause if it is none of Cause; otherwise empty

    /// The cause as recorded, also one that this program does not know.
    std::string_view cause_name() const;
};

// In the `journal` of a run, written by its chief rank:

struct MetricsReported {
    UtcTime time;
    std::string group;  // training, validation or a name of the user
    std::uint64_t steps_completed = 0;
    JsonValue metrics;
    Rank rank = {};  // that reported; others than the chief have journals of their own
};

struct CheckpointCommitted {
    UtcTime time;
    std::string uuid;
    std::uint64_t steps_completed = 0;
    JsonValue resources;
    JsonValue metadata;
    /// Seconds for which the chief's training waited for the save; empty in journals of older programs.
    std::optional<double> blocked_s = {};
    /// SHA-256 of the manifest as it is stored; empty in journals of older programs.
    std::string manifest_sha256 = {};
};

/// Written when the chief begins a checkpoint. If the chief dies before it writes CheckpointCommitted, the
/// store shows whether the checkpoint was committed.
struct CheckpointBegun {
    UtcTime time;
    std::string uuid;
    std::uint64_t steps_completed = 0;
};

struct PreemptionAcknowledged {
    UtcTime time;
    std::optional<UtcTime> noticed = {};  // when the chief learned of it, perhaps from another rank
};

struct ProgressReported {
    UtcTime time;
    double progress = 0;  // 0 to 1
};

/// The training loop has called should_preempt() for the first time.
struct FirstStep {
    UtcTime time;
};

/// The program has reported why it ends its training early.
struct EarlyExitReported {
    UtcTime time;
    std::string reason;  // one of early_exit_reasons
};
namespace early_exit_reasons {
inline constexpr std::string_view invalid_hyperparameters = "INVALID_HP";
inline constexpr std::string_view user_requested_stop = "USER_REQUESTED_STOP";
}  // namespace early_exit_reasons

/// A text in which the program says what it does.
struct StatusSet {
    UtcTime time;
    std::string status;
};

/// A message of the program to its user; in `life`, one of the supervisor.
struct AlertRaised {
    UtcTime time;
    std::string title;
    std::string description;
    std::string level;  // debug, info, warn or error
};

/// Replaces the metadata of the trial.
struct TrialMetadataSet {
    UtcTime time;
    JsonValue metadata;
};

/// The program has trained up to the length of an operation of the searcher.
struct OperationCompleted {
    UtcTime time;
    std::uint64_t length = 0;  // of the operation, from the beginning of the trial, in the searcher's unit
    double metric = 0;         // the searcher's metric; one that is not finite is read back as NaN
};

/// In `life`: Slurm has requeued the job.
struct JobRequeued {
    UtcTime time;
};

/// In `life`: the job's times as Slurm shows them, in whole seconds. A run may have several; the last one
/// counts.
struct JobAllocated {
    UtcTime time;
    UtcTime started;
    std::optional<UtcTime> submitted = {};  // when the job was submitted or last requeued
    std::optional<UtcTime> ended = {};      // empty while the job runs
    std::uint32_t nodes = 0;
};

/// In `life`: the trial has arrived at a rung of its search, and the supervisor has decided whether it trains
/// on. The decision follows from the names of the rung's entries that `trials` lists.
struct SearchDecision {
    UtcTime time;
    std::uint64_t steps_completed = 0;  // of the report
    std::uint32_t bracket = 0;
    std::uint32_t rung = 0;
    std::string entry;                // the trial's entry in the rung: "12@0.25"
    std::string trials;               // the trials that had arrived, as ranges: "0-3,12"
    std::string digest;               // SHA-256 of the entries of these trials, see FORMATS.md
    std::uint32_t better_trials = 0;  // number of these trials with a better metric
    std::uint32_t kept_trials = 0;    // number of these trials that train on
    std::string decision;             // advance, stop or complete
};

/// The run has loaded a state that an earlier run of the trial had kept in the memory of the nodes. Its
/// training continues from there, and not from the checkpoint that RunStarted names.
struct ContinuedFromMemory {
    UtcTime time;
    std::uint64_t steps_completed = 0;  // of the state
    std::uint32_t run = 0;              // that kept it
};

/// Reports of the program that are not in the journal.
struct ReportsDropped {
    UtcTime time;
    std::uint64_t count = 0;  // since the previous record of this type
    std::string reason;
};

using Record = std::variant<RunStarted, RunEnded, MetricsReported, CheckpointCommitted,
                            PreemptionAcknowledged, ProgressReported, CheckpointBegun, FirstStep, JobRequeued,
                            EarlyExitReported, StatusSet, AlertRaised, TrialMetadataSet, OperationCompleted,
                            SearchDecision, ReportsDropped, JobAllocated, ContinuedFromMemory>;

/// The number of a record type in the frames of a journal. Never reused.
enum class RecordType : std::uint16_t {
    run_started = 1,
    run_ended = 2,
    metrics = 3,
    checkpoint = 4,
    acknowledgement = 5,
    progress = 6,
    checkpoint_begun = 7,
    first_step = 8,
    requeued = 9,
    early_exit = 10,
    status = 11,
    alert = 12,
    trial_metadata = 13,
    operation_completed = 14,
    search_decision = 15,
    metric_schema = 16,  // 16 and 17: metric_frames.hpp
    metric_values = 17,
    reports_dropped = 18,
    allocation = 19,
    continued_from_memory = 20,
};

struct EncodedRecord {
    RecordType type;
    std::string payload;
};

EncodedRecord encode_record(Record const& record);

/// Decodes a record. Returns nullopt for an unknown type, which a newer program has written; readers skip it.
/// codes::damaged if the payload is not that of the type.
Result<std::optional<Record>> decode_record(std::uint16_t type, std::string_view payload);

/// Converts a record to JSON with the name of its type, for `det-submit dump`.
Json to_json(Record const& record);
/// The reverse of to_json(). codes::damaged if it is no record, or of an unknown type.
Result<Record> parse_record(Json const& json);

}  // namespace det
