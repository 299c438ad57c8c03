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

#include "pulse.hpp"
#include "read_ahead.hpp"
#include "run_signals.hpp"

namespace det::launch::wrap_rank {
namespace {

namespace fs = std::filesystem;

constexpr char work_directory[] = "workdir";
constexpr int beats_until_silent = 6;
constexpr std::chrono::milliseconds beat_interval_min{500};
constexpr char ranks_log_mark[] = "ranks-log";  // in DET_RUN_DIR: ranks of this node have wrappers that log

/// On a node with a wrapper around the launcher, lines of ranks are logged once: by the rank's own wrapper.
void share_the_log(Launch level, fs::path const& run_dir, Labels& labels) {
    if (!labels.log) return;
    auto const mark = run_dir / ranks_log_mark;
    if (level == Launch::rank) {
        UniqueFd(::open(mark.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    } else {
        labels.ranks_log_themselves = [mark, seen = false]() mutable {
            return seen = seen || path_exists(mark);
        };
    }
}

/// For who asks later which rank failed first. It is a help: where it can't be written, nothing else fails.
void report_failure(std::string const& rank, CommandEnd const& end, RelayedCommand const& command) {
    if (end.exit_code == 0 || !command.labels.log) return;
    RankEnd const report{end.time,
                         parse_integer<std::uint32_t>(rank),
                         node::node_name(command.environment),
                         end.exit_code,
                         end.signal,
                         end.last_words};
    UniqueFd const file(::open(RunLayout::ends_beside(*command.labels.log).c_str(),
                               O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    if (file) (void)write_all(file.get(), render_rank_end(report), "how the rank failed");
}

/// The job runs again elsewhere, and this node was cut off. srun would answer a failure by telling Slurm to
/// end the step of that number in this job: the new run's, by now. So such a run ends without a failure.
bool is_superseded(Environment const& environment) {
    fs::path const run = environment.find(variables::run_path).value_or("");
    auto const number = parse_integer<std::uint32_t>(run.filename().string());
    return number && path_exists(run.parent_path() / std::to_string(*number + 1));
}

}  // namespace

Result<CommandEnd> run_wrapped(Job job, Environment environment, fs::path const& helper, Clock const& clock) {
    environment.unset(variables::wrapped_command);
    VariableLookup const lookup = [&](std::string_view name) { return environment.find(name); };
    auto const task = identify_task(lookup);
    auto const key = task ? std::optional(task_key(*task)) : std::nullopt;
    bool const in_run = task && find_step_kind(*task, lookup) != StepKind::foreign;
    // Only a supervisor knows what to make of ranks that stop on a notice: a script's get TERM itself.
    bool const supervised = in_run && environment.find_non_empty(variables::run_path);
    bool const placed = in_run && environment.find(variables::placed) == key;
    bool const labelled = key && environment.find(variables::wrapped) == key;
    if (job.level == Launch::rank ? labelled : placed) return replace_process(job.command, environment);

    RelayedCommand command{std::move(job.command), {}, {}, {}, block_relayed_signals(), {}};
    std::optional<node::NodeDirectory> directory;  // our share of it, until the command has ended
    if (in_run && !placed) {
        DET_TRY_ASSIGN(auto taken, node::enter_run_directory(environment, *task, job.level, helper));
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
        signals->withhold(command.signal_mask);
        command.take_signal = [&](int signal) { return signals->take(signal, clock); };
    }
    if (job.level == Launch::rank) {
        command.labels.prefix = fmt::format("[rank={}] ", job.rank);
        if (key) environment.set(variables::wrapped, *key);
    }
    if (auto const log = environment.find_non_empty(variables::rank_log)) command.labels.log = *log;
    if (placed) command.started_by = StartedBy::launcher;
    std::optional<Pulse> pulse;
    if (supervised && !placed && command.labels.log) {
        auto const interval = silence_limit(lookup) / beats_until_silent;
        pulse.emplace(RunLayout::pulse_beside(*command.labels.log), interval);
        command.beat = [&] { pulse->beat(); };
        command.beat_interval = std::max(std::chrono::milliseconds(interval), beat_interval_min);
    }
    std::optional<ReadAhead> ahead;
    if (auto const checkpoint = environment.find_non_empty(variables::read_ahead)) {
        if (supervised && !placed) ahead.emplace(*checkpoint, *task);
        environment.unset(variables::read_ahead);
    }
    if (in_run) share_the_log(job.level, environment.find(variables::run_dir).value_or(""), command.labels);
    command.environment = std::move(environment);
    DET_TRY_ASSIGN(auto const end, relay(command, clock));
    if (supervised && end.exit_code != 0 && is_superseded(command.environment)) return CommandEnd{};
    if (supervised) report_failure(job.rank, end, command);
    return end;
}

}  // namespace det::launch::wrap_rank
