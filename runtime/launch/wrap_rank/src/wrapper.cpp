#include <det/foundation/process.hpp>
#include <det/foundation/text.hpp>
#include <det/preemption/notice_page.hpp>
#include <det/protocol/host_list.hpp>
#include <det/protocol/layout.hpp>
#include <det/protocol/task_identity.hpp>
#include <det/wrap_rank/node_directory.hpp>
#include <det/wrap_rank/wrapper.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <unistd.h>

namespace det::wrap_rank {
namespace {

namespace fs = std::filesystem;

constexpr char work_directory[] = "work";
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
    std::optional<preemption::NoticePage> notice;
    if (in_run && placed) {
        // The notice is for whoever placed the task. A TERM here may be a launcher's, that ends its ranks
        // otherwise too: it must not look like the notice.
        command.on_notice = [] {};
    } else if (in_run) {
        fs::path const run_dir = environment.find(variables::run_dir).value_or("");
        DET_TRY_ASSIGN(auto page, preemption::NoticePage::open(run_dir / preemption::notice_file));
        notice.emplace(std::move(page));
        command.on_notice = [&] { notice->raise(clock.now()); };
    }
    if (job.level == Launch::rank) {
        command.labels.prefix = fmt::format("[rank={}] ", job.rank);
        if (key) environment.set(variables::wrapped, *key);
    }
    if (auto const log = environment.find_non_empty(variables::rank_log)) command.labels.log = *log;
    command.environment = std::move(environment);
    return relay(command, clock);
}

}  // namespace det::wrap_rank
