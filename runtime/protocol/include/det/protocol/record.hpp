#pragma once
#include <det/foundation/clock.hpp>
#include <det/protocol/document.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace det {

/// Why a run ended, as its supervisor saw it.
enum class Cause {
    finished,      // exit 0, nothing asked it to stop
    preempted,     // Slurm wanted the nodes
    paused,        // the user wanted the nodes
    canceled,      // the user wanted it to end
    failed,        // a rank failed
    time_limit,    // Slurm's time limit came
    node_failed,   // Slurm took the node away
    superseded,    // another incarnation of the job runs: this one wrote nothing more
    not_launched,  // the step could not be started
    interrupted,   // the job was told to end, and nobody could be asked why, or to queue it again
};

/// What the supervisor does about it.
enum class NextAction {
    stop,              // the trial has ended
    restart_in_place,  // a new run in the same allocation
    requeue,           // the supervisor asks Slurm to queue the job again
    left_to_slurm,     // Slurm has queued it again already, or has ended it
    requeue_held,      // queued again, and held until the user wants it
};

std::string_view to_string(Cause cause);
std::string_view to_string(NextAction next_action);

// What journals hold. `life` of a run, written by its supervisor:

struct RunStarted {
    UtcTime time;
    std::string job;                  // "123_4", as Slurm calls names it
    std::uint32_t restart_count = 0;  // SLURM_RESTART_COUNT: with job and run the incarnation
    std::string batch_host;
    std::string hosts;              // compressed
    std::uint32_t restarts = 0;     // how often the trial failed before
    std::string latest_checkpoint;  // empty: from the beginning
    std::uint64_t steps_completed = 0;
};

struct RunEnded {
    UtcTime time;
    Cause cause = Cause::failed;
    NextAction next_action = NextAction::stop;
    int exit_code = 0;           // of the step; 128 + signal
    std::string message;         // one readable line
    std::string bad_hosts = {};  // nodes that the next run must not have: compressed, "" where all are well
};

// `journal` of a run, written by its chief:

struct MetricsReported {
    UtcTime time;
    std::string group;  // training, validation, or the user's own
    std::uint64_t steps_completed = 0;
    JsonValue metrics;
};

struct CheckpointCommitted {
    UtcTime time;
    std::string uuid;
    std::uint64_t steps_completed = 0;
    JsonValue resources;
    JsonValue metadata;
};

/// Before its manifest gets its name: whether it came to that the store knows, even where nobody was left to
/// say so.
struct CheckpointBegun {
    UtcTime time;
    std::string uuid;
    std::uint64_t steps_completed = 0;
};

struct PreemptionAcknowledged {
    UtcTime time;
    std::optional<UtcTime> noticed = {};  // when the chief's node was told
};

struct ProgressReported {
    UtcTime time;
    double progress = 0;  // 0 to 1
};

/// The training loop has begun: its first step is done, or about to be.
struct FirstStep {
    UtcTime time;
};

// In `life` once more: Slurm has taken the job back into its queue.

struct QueuedAgain {
    UtcTime time;
};

using Record =
    std::variant<RunStarted, RunEnded, MetricsReported, CheckpointCommitted, PreemptionAcknowledged,
                 ProgressReported, CheckpointBegun, FirstStep, QueuedAgain>;

/// The number that stands for the type in a journal's frames. Never reused.
enum class RecordType : std::uint16_t {
    run_started = 1,
    run_ended = 2,
    metrics = 3,
    checkpoint = 4,
    acknowledgement = 5,
    progress = 6,
    checkpoint_begun = 7,
    first_step = 8,
    queued_again = 9,
};

struct EncodedRecord {
    RecordType type;
    std::string payload;
};

EncodedRecord encode_record(Record const& record);

/// Nothing where the type is one that this program does not know: it is skipped, a newer program wrote it.
Result<std::optional<Record>> decode_record(std::uint16_t type, std::string_view payload);

/// With the type's name, for `det-submit dump`.
Json to_json(Record const& record);

}  // namespace det
