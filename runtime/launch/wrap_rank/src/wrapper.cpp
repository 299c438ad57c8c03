#include <det/foundation/process.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/host_list.hpp>
#include <det/protocol/layout.hpp>
#include <det/protocol/rank_end.hpp>
#include <det/protocol/task_identity.hpp>
#include <det/wrap_rank/node_directory.hpp>
#include <det/wrap_rank/wrapper.hpp>

#include <algorithm>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "run_signals.hpp"

namespace det::wrap_rank {
namespace {

namespace fs = std::filesystem;

constexpr char work_directory[] = "work";
constexpr char ranks_log_mark[] = "ranks-log";  // in DET_RUN_DIR: ranks of this node have wrappers that log
constexpr std::chrono::minutes preparation_timeout{10};  // an archive of 95 MiB from a slow file system

std::string node_name(Environment const& environment) {
    if (auto name = environment.find_non_empty("SLURMD_NODENAME")) return *std::move(name);
    char name[256] = "localhost";
    ::gethostname(name, sizeof name - 1);
    return name;
}

/// Which node of the run this is. A step of a launcher may use only some of its nodes, so a step's own node
/// numbers don't tell.
int node_of_run(Environment const& environment, TaskIdentity const& task) {
    auto const hosts = expand_host_list(environment.find(variables::run_hosts).value_or(task.hosts));
    if (!hosts) return task.cross_rank;
    auto const found = std::find(hosts->begin(), hosts->end(), node_name(environment));
    return found == hosts->end() ? task.cross_rank : static_cast<int>(found - hosts->begin());
}

Status prepare_node(fs::path const& directory, int node, Environment const& environment,
                    fs::path const& helper) {
    SystemProcessRunner runner;
    DET_TRY_ASSIGN(
        auto const output,
        runner.run({{helper, "prepare-node", "--run-dir", directory, "--node", std::to_string(node)},
                    environment,
                    preparation_timeout}));
    if (output.exit_code == 0) return Ok{};
    return Error{codes::process, "could not prepare this node for the run"}.noting(
        std::string(trim(output.err)));
}

fs::path local_base(Environment const& environment) {
    for (auto const* name : {variables::local_dir, "TMPDIR"}) {
        auto const value = environment.find_non_empty(name);
        if (value && value->front() == '/') return *value;
    }
    return "/tmp";
}

/// Gives a task its place: the node's directory, and the variables that follow from it.
Result<NodeDirectory> take_place(Environment& environment, TaskIdentity const& task, fs::path const& helper) {
    int const node = node_of_run(environment, task);
    auto const base = local_base(environment);
    auto const key =
        run_directory_key(base, environment.find(variables::run_key).value_or(""), node_name(environment));
    DET_TRY_ASSIGN(auto directory, NodeDirectory::enter(base, key, [&](fs::path const& path) {
                       return prepare_node(path, node, environment, helper);
                   }));
    environment.set(variables::run_dir, directory.path());
    environment.set(variables::placed, task_key(task));
    if (auto const run = environment.find_non_empty(variables::run_path)) {
        environment.set(variables::rank_log, RunLayout(*run).node_log(node));
    }
    if (environment.find(variables::launch) == "rank") {
        for (auto& [name, value] : rank_variables(task)) environment.set(name, value);
    }
    return directory;
}

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
                         node_name(command.environment),
                         end.exit_code,
                         end.signal,
                         end.last_words};
    UniqueFd const file(::open(RunLayout::ends_beside(*command.labels.log).c_str(),
                               O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    if (file) (void)write_all(file.get(), render_rank_end(report), "how the rank failed");
}

}  // namespace

Result<CommandEnd> run_wrapped(Job job, Environment environment, fs::path const& helper, Clock const& clock) {
    environment.unset(variables::wrapped_command);
    auto const task = identify_task([&](std::string_view name) { return environment.find(name); });
    auto const key = task ? std::optional(task_key(*task)) : std::nullopt;
    bool const in_run = key && environment.find_non_empty(variables::run_key);
    bool const placed = in_run && environment.find(variables::placed) == key;
    bool const labelled = key && environment.find(variables::wrapped) == key;
    if (job.level == Launch::rank ? labelled : placed) return replace_process(job.command, environment);

    RelayedCommand command{std::move(job.command), {}, {}, {}, block_relayed_signals(), {}};
    std::optional<NodeDirectory> directory;  // this task's share of it, until the command has ended
    if (in_run && !placed) {
        DET_TRY_ASSIGN(auto taken, take_place(environment, *task, helper));
        directory.emplace(std::move(taken));
        auto const work = directory->path() / work_directory;
        if (path_exists(work)) {
            command.directory = work;
            environment.set("PWD", work);
        }
    }
    std::optional<RunSignals> signals;
    if (in_run) {
        DET_TRY_ASSIGN(auto opened, RunSignals::open(environment));
        signals.emplace(std::move(opened));
        signals->withhold(command.signal_mask);
        command.take_signal = [&](int signal) { return signals->take(signal, clock.now()); };
    }
    if (job.level == Launch::rank) {
        command.labels.prefix = fmt::format("[rank={}] ", job.rank);
        if (key) environment.set(variables::wrapped, *key);
    }
    if (auto const log = environment.find_non_empty(variables::rank_log)) command.labels.log = *log;
    if (placed) command.started_by = StartedBy::launcher;
    if (in_run) share_the_log(job.level, environment.find(variables::run_dir).value_or(""), command.labels);
    command.environment = std::move(environment);
    DET_TRY_ASSIGN(auto const end, relay(command, clock));
    if (in_run) report_failure(job.rank, end, command);
    return end;
}

}  // namespace det::wrap_rank
