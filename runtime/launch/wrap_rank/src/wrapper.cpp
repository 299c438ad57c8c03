#include <det/foundation/process.hpp>
#include <det/foundation/text.hpp>
#include <det/launch/node/run_directory.hpp>
#include <det/launch/wrap_rank/wrapper.hpp>
#include <det/protocol/layout.hpp>
#include <det/protocol/rank_end.hpp>
#include <det/protocol/step_run.hpp>

#include <atomic>
#include <fcntl.h>
#include <fmt/format.h>

#include "heartbeat.hpp"
#include "read_ahead.hpp"
#include "run_signals.hpp"

namespace det::launch::wrap_rank {
namespace {

namespace fs = std::filesystem;

constexpr char work_directory[] = "workdir";
constexpr int beats_until_silent = 6;
constexpr std::chrono::milliseconds beat_interval_min{500};
// A file in DET_RUN_DIR that exists if the ranks of this node have wrappers that log
constexpr char ranks_log_mark[] = "ranks-log";

/// Makes sure that lines of ranks are logged once, by the rank's own wrapper, if the launcher is wrapped too.
void share_log(Launch level, fs::path const& run_dir, Labels& labels) {
    if (!labels.log) return;
    auto const mark = run_dir / ranks_log_mark;
    if (level == Launch::rank) {
        UniqueFd(::open(mark.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    } else {
        labels.ranks_write_log = [mark, seen = false]() mutable { return seen = seen || path_exists(mark); };
    }
}

/// Records the failure for `experiment describe`. Errors are ignored.
void report_failure(std::string const& rank, CommandEnd const& end, RelayedCommand const& command) {
    if (end.exit_code == 0 || !command.labels.log) return;
    RankEnd const report{end.time,
                         parse_integer<std::uint32_t>(rank),
                         node::node_name(command.environment),
                         end.exit_code,
                         end.signal,
                         end.last_output};
    UniqueFd const file(::open(RunLayout::ends_beside(*command.labels.log).c_str(),
                               O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    if (file) (void)write_all(file.get(), render_rank_end(report), "how the rank failed");
}

/// Whether a newer run of the trial exists, because this node was cut off from the network. This run then
/// ends without a failure: after one, srun would ask Slurm to end the step of its number in this job, and
/// that step now belongs to the new run.
bool is_superseded(Environment const& environment) {
    fs::path const run = environment.find(variables::run_path).value_or("");
    auto const number = parse_integer<std::uint32_t>(run.filename().string());
    return number && path_exists(run.parent_path() / std::to_string(*number + 1));
}

}  // namespace

Result<CommandEnd> run_wrapped(WrapRequest request, Environment environment, fs::path const& helper,
                               Clock const& clock) {
    environment.unset(variables::wrapped_command);
    VariableLookup const lookup = [&](std::string_view name) { return environment.find(name); };
    auto const task = identify_task(lookup);
    auto const key = task ? std::optional(task_key(*task)) : std::nullopt;
    bool const in_run = task && find_step_kind(*task, lookup) != StepKind::foreign;
    // Only a supervisor handles ranks that stop after a notice: ranks of a user's own script get SIGTERM.
    bool const supervised = in_run && environment.find_non_empty(variables::run_path);
    bool const has_run_dir = in_run && environment.find(variables::placed) == key;
    bool const labelled = key && environment.find(variables::wrapped) == key;
    if (request.level == Launch::rank ? labelled : has_run_dir)
        return replace_process(request.command, environment);

    RelayedCommand command{std::move(request.command), {}, {}, {}, block_relayed_signals(), {}};
    std::optional<node::NodeDirectory> directory;  // held until the command has ended
    if (in_run && !has_run_dir) {
        DET_TRY_ASSIGN(auto taken, node::enter_run_directory(environment, *task, request.level, helper));
        directory.emplace(std::move(taken));
        auto const work = directory->path() / work_directory;
        if (path_exists(work)) {
            command.directory = work;
            environment.set("PWD", work);
        }
    }
    std::optional<RunSignals> signals;
    if (supervised) {
        DET_TRY_ASSIGN(auto opened, RunSignals::open(environment));
        signals.emplace(std::move(opened));
        signals->block_withheld(command.signal_mask);
        command.handle_signal = [&](int signal) { return signals->take(signal, clock); };
    }
    if (request.level == Launch::rank) {
        command.labels.prefix = fmt::format("[rank={}] ", request.rank);
        if (key) environment.set(variables::wrapped, *key);
    }
    if (auto const log = environment.find_non_empty(variables::rank_log)) command.labels.log = *log;
    if (has_run_dir) command.started_by = StartedBy::launcher;
    std::optional<Heartbeat> heartbeat;
    if (supervised && !has_run_dir && command.labels.log) {
        auto const interval = silence_limit(lookup) / beats_until_silent;
        heartbeat.emplace(RunLayout::pulse_beside(*command.labels.log), interval);
        command.beat = [&] { heartbeat->beat(); };
        command.beat_interval = std::max(std::chrono::milliseconds(interval), beat_interval_min);
    }
    std::optional<ReadAhead> ahead;
    if (auto const checkpoint = environment.find_non_empty(variables::read_ahead)) {
        if (supervised && !has_run_dir) ahead.emplace(*checkpoint, *task);
        environment.unset(variables::read_ahead);
    }
    if (in_run) share_log(request.level, environment.find(variables::run_dir).value_or(""), command.labels);
    command.environment = std::move(environment);
    DET_TRY_ASSIGN(auto const end, relay(command, clock));
    if (supervised && end.exit_code != 0 && is_superseded(command.environment)) return CommandEnd{};
    if (supervised) report_failure(request.rank, end, command);
    return end;
}

}  // namespace det::launch::wrap_rank
