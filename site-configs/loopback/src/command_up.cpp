#include <det/foundation/count_text.hpp>
#include <det/foundation/executable.hpp>
#include <det/foundation/text.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <iostream>
#include <poll.h>
#include <unistd.h>

#include "cluster_cgroup.hpp"
#include "cluster_lock.hpp"
#include "cluster_record.hpp"
#include "commands.hpp"
#include "error_codes.hpp"
#include "init_start.hpp"

namespace det::loopback {
namespace {

constexpr std::chrono::seconds ready_limit{60};
constexpr std::size_t log_lines_shown = 8;

void say(std::string_view text) { std::cerr << "cluster: " << text << '\n'; }

/// Tears the cluster down in the destructor, unless commit() was called.
class TearDownGuard {
public:
    explicit TearDownGuard(ClusterPaths const& paths) : paths_(paths) {}
    ~TearDownGuard() {
        if (!committed_) static_cast<void>(tear_down(paths_, Keep::nothing).has_value());
    }
    TearDownGuard(TearDownGuard const&) = delete;
    TearDownGuard& operator=(TearDownGuard const&) = delete;
    void commit() { committed_ = true; }

private:
    ClusterPaths const& paths_;
    bool committed_ = false;
};

constexpr Program programs[] = {
    {"munged", "munge"},       {"slurmctld", "slurmctld"}, {"slurmd", "slurmd"},
    {"sinfo", "slurm-client"}, {"srun", "slurm-client"},   {"ip", "iproute2"},
};

/// Fails if one of the programs that the cluster needs is not installed.
Status require_programs(SlurmInstallation const& slurm, SiteProfile const& profile) {
    std::vector<Program> wanted(std::begin(programs), std::end(programs));
    wanted.insert(wanted.end(), profile.programs.begin(), profile.programs.end());
    std::vector<std::string> names, packages;
    for (auto const& program : wanted) {
        if (slurm.has_program(program.name)) continue;
        names.emplace_back(program.name);
        if (packages.empty() || packages.back() != program.package) packages.emplace_back(program.package);
    }
    if (names.empty()) return Ok{};
    return Error{codes::missing_program, fmt::format("not installed: {}", join(names, ", ")),
                 fmt::format("on Debian run 'apt-get install {}'", join(packages, " "))};
}

/// Fails with codes::already_up if the cluster is running. Else removes the files that an earlier cluster of
/// this name has left.
Status remove_earlier_cluster(ClusterPaths const& paths) {
    DET_TRY_ASSIGN(auto const running, find_running(paths));
    if (running) {
        return Error{codes::already_up, fmt::format("cluster '{}' is up already", paths.name()),
                     fmt::format("run 'cluster down --name {}', or choose another --name", paths.name())};
    }
    if (!path_exists(paths.state())) return Ok{};
    say(fmt::format("removing the files of an earlier cluster '{}' in {}", paths.name(),
                    paths.state().string()));
    return tear_down(paths, Keep::nothing);
}

/// Chooses how Slurm finds the processes of a step. Makes the cluster's group if the answer is
/// cgroup.
Result<Proctrack> prepare_proctrack(ClusterOptions const& options, ClusterPaths const& paths) {
    bool const has_v2 = find_cgroup_version().value_or(CgroupVersion::v1) == CgroupVersion::v2;
    if (!options.profile.cgroup_options.empty() && !has_v2) {
        return Error{
            codes::no_cgroup_v2,
            fmt::format("profile {} needs cgroup v2, which this machine has not", options.profile.name),
            "run it in site-configs/loopback/virtual-machine"};
    }
    if (options.proctrack == Proctrack::linuxproc) return Proctrack::linuxproc;
    auto const group = ClusterGroup::make(paths.cgroup_name());
    if (group) return Proctrack::cgroup;
    if (options.proctrack == Proctrack::cgroup) return group.error();
    say(fmt::format("proctrack/linuxproc, because: {}", group.error().message));
    return Proctrack::linuxproc;
}

/// Finds the Slurm, or makes the root file system that contains it, which takes a minute.
Result<SlurmInstallation> prepare_slurm(ClusterOptions const& options,
                                        std::filesystem::path const& software) {
    std::vector<std::string> packages;
    for (auto const& program : options.profile.programs) packages.emplace_back(program.package);
    DET_TRY_ASSIGN(auto slurm, find_or_build_slurm(options.slurm, packages, software, say));
    if (options.slurm != installed_slurm && !slurm.version.starts_with(options.slurm + ".")) {
        say(fmt::format("Slurm {} instead of {}", describe(slurm), options.slurm));
    }
    return slurm;
}

Plugin choose_plugin(Plugin wanted, std::filesystem::path const& software) {
    auto const library = software / "lib" / "spank_det.so";
    if (wanted == Plugin::off || path_exists(library)) return wanted;
    say(fmt::format("without the SPANK plugin: {} is not built", library.string()));
    return Plugin::off;
}

std::string tail_of(std::filesystem::path const& log) {
    auto const text = read_file(log).value_or("");
    auto const lines = split_lines(text);
    std::string tail;
    for (auto i = lines.size() - std::min(lines.size(), log_lines_shown); i < lines.size(); ++i) {
        tail += fmt::format("\n    {}", lines[i]);
    }
    return tail;
}

/// Returns the log of the daemon that the message names first ("slurmctld does not stay up"), else all logs.
std::vector<std::string> find_relevant_logs(Error const& error, ClusterPaths const& paths) {
    auto const named = error.message.substr(0, error.message.find(' ')) + ".out";
    std::vector<std::string> logs;
    for (auto const& name : list_directory(paths.log()).value_or(std::vector<std::string>())) {
        if (name == named) return {name};
        if (name.ends_with(".out") || name == "init.log") logs.push_back(name);
    }
    return logs;
}

/// Adds the last lines of the logs to the error, because the files are removed after a failed start.
Error add_log_tails(Error error, ClusterPaths const& paths) {
    if (error.code == codes::interrupted) return error;
    for (auto const& name : find_relevant_logs(error, paths)) {
        auto const tail = tail_of(paths.log() / name);
        if (!tail.empty()) error.notes.push_back(fmt::format("{} ends with:{}", name, tail));
    }
    return error;
}

bool all_idle(Result<std::vector<NodeState>> const& nodes, int wanted) {
    if (!nodes || static_cast<int>(nodes->size()) != wanted) return false;
    return std::all_of(nodes->begin(), nodes->end(),
                       [](NodeState const& node) { return node.state == "idle"; });
}

Error never_idle(Result<std::vector<NodeState>> const& states) {
    Error error{codes::timed_out, "the nodes did not become idle in time"};
    if (!states) return std::move(error).noting(states.error().message);
    for (auto const& node : *states) error.notes.push_back(fmt::format("{} is {}", node.name, node.state));
    return error;
}

Status wait_until_idle(ClusterPaths const& paths, int nodes, SignalReader const& interrupts,
                       Deadline const& deadline) {
    constexpr std::chrono::seconds poll_limit{5};
    for (;;) {
        auto const states = read_node_states(paths, poll_limit);
        if (all_idle(states, nodes)) return Ok{};
        if (deadline.has_passed()) return never_idle(states);
        DET_TRY_ASSIGN(auto const running, find_running(paths));
        if (!running) return Error{codes::process, "the init process ended"};
        pollfd polled{interrupts.fd(), POLLIN, 0};
        if (::poll(&polled, 1, 50) > 0) return Error{codes::interrupted, "interrupted"};
    }
}

Status set_up_site(ClusterPaths const& paths, SiteProfile const& profile) {
    constexpr std::chrono::seconds limit{30};
    for (auto const& command : profile.setup) {
        DET_TRY_ASSIGN(auto const output, run_in_cluster(paths, command, limit));
        if (output.exit_code != 0) {
            return Error{codes::process, fmt::format("'{}' failed", join(command, " "))}.noting(
                std::string(trim(output.out + output.err)));
        }
    }
    return Ok{};
}

Status start(InitOptions const& init, SignalReader const& interrupts) {
    Deadline const deadline(ready_limit);
    DET_TRY_ASSIGN(auto const pipe, start_init_process(init));
    DET_TRY(wait_until_started(pipe, interrupts, deadline, say));
    DET_TRY(wait_until_idle(init.paths, init.nodes, interrupts, deadline));
    return set_up_site(init.paths, init.profile);
}

void announce(ClusterPaths const& paths, InitOptions const& init, ClusterOptions const& options) {
    auto const name = paths.name() == default_name ? "" : fmt::format(" --name {}", paths.name());
    auto const base = paths.base() == default_base ? "" : fmt::format(" --dir {}", paths.base().string());
    fmt::print(
        "cluster '{}' is up: Slurm {}, profile {}, {} of {} and {}, proctrack/{}, SPANK "
        "plugin {}\n"
        "  cluster login{}{} srun -N{} hostname\n  cluster down{}{}\n",
        paths.name(), describe(init.slurm), options.profile.name, count_text(options.nodes, "node"),
        count_text(options.slots, "slot"), count_text(options.cpus_per_node(), "CPU"),
        to_string(init.proctrack), options.plugin == Plugin::off ? "off" : "on", base, name, options.nodes,
        base, name);
}

}  // namespace

Result<int> run_up(ClusterPaths const& paths, ClusterOptions const& wanted) {
    DET_TRY(require_root_user());
    auto const software = own_executable().parent_path().parent_path();
    DET_TRY_ASSIGN(auto const slurm, prepare_slurm(wanted, software));
    DET_TRY(require_programs(slurm, wanted.profile));
    DET_TRY_ASSIGN(auto const lock, ClusterLock::take(paths));
    DET_TRY(remove_earlier_cluster(paths));

    DET_TRY_ASSIGN(auto const interrupts, SignalReader::open(signal_set({SIGINT, SIGTERM, SIGHUP})));
    auto options = wanted;
    options.plugin = choose_plugin(wanted.plugin, software);
    TearDownGuard guard(paths);
    DET_TRY_ASSIGN(auto const proctrack, prepare_proctrack(options, paths));
    DET_TRY(create_cluster_files(options, proctrack, slurm, paths));
    InitOptions const init{paths,     options.nodes, options.slots, options.cpus_per_node(),
                           proctrack, software,      slurm,         options.profile};
    if (auto started = start(init, interrupts); !started) {
        return add_log_tails(std::move(started).error(), paths)
            .while_doing(fmt::format("starting cluster '{}'", paths.name()));
    }
    guard.commit();
    announce(paths, init, options);
    return 0;
}

}  // namespace det::loopback
