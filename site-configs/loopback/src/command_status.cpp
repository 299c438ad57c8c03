#include <det/foundation/count_text.hpp>
#include <det/foundation/executable.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/process.hpp>
#include <det/foundation/text.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include "cluster_record.hpp"
#include "commands.hpp"
#include "control_socket.hpp"
#include "error_codes.hpp"
#include "plan_daemons.hpp"

namespace det::loopback {
namespace {

constexpr std::chrono::seconds sinfo_limit{10};

struct DaemonRow {
    std::string name;
    pid_t pid;  // in the PID namespace of the host machine; -1: none
    std::string state;
    int restarts = 0;
};

struct ClusterStatus {
    std::vector<DaemonRow> daemons;
    std::vector<NodeState> nodes;
};

ino_t pid_namespace_of(pid_t pid) {
    struct stat info {};
    return ::stat(fmt::format("/proc/{}/ns/pid", pid).c_str(), &info) == 0 ? info.st_ino : 0;
}

/// Parses "NSpid:\t4711\t12" in /proc/<pid>/status; the last number is the pid in the innermost namespace.
pid_t innermost_pid(pid_t pid) {
    constexpr std::string_view key = "NSpid:";
    auto const text = read_file(fmt::format("/proc/{}/status", pid)).value_or("");
    for (auto const line : split_lines(text)) {
        if (line.starts_with(key)) return parse_integer<pid_t>(split(line, '\t').back()).value_or(-1);
    }
    return -1;
}

/// For the processes in the PID namespace of `init`: maps the pid inside to the pid on the host machine.
std::map<pid_t, pid_t> find_host_pids(pid_t init) {
    std::map<pid_t, pid_t> pids;
    auto const cluster_namespace = pid_namespace_of(init);
    for (auto const& name : list_directory("/proc").value_or(std::vector<std::string>())) {
        auto const pid = parse_integer<pid_t>(name);
        if (pid && pid_namespace_of(*pid) == cluster_namespace) pids[innermost_pid(*pid)] = *pid;
    }
    return pids;
}

Result<std::vector<DaemonRow>> read_daemons(ClusterPaths const& paths, pid_t init) {
    DET_TRY_ASSIGN(auto const reply, send_request(paths, "status"));
    auto const host_pids = find_host_pids(init);
    std::vector<DaemonRow> rows{{"init", init, "running", 0}};
    for (auto const line : split_lines(reply)) {
        auto const words = split(line, ' ');
        if (words.size() != 4) continue;
        auto const inner = parse_integer<pid_t>(words[1]).value_or(-1);
        auto const found = host_pids.find(inner);
        rows.push_back({std::string(words[0]), found == host_pids.end() ? -1 : found->second,
                        std::string(words[2]), parse_integer<int>(words[3]).value_or(0)});
    }
    return rows;
}

bool is_running(std::vector<DaemonRow> const& rows, std::string_view name) {
    return std::any_of(rows.begin(), rows.end(),
                       [&](DaemonRow const& row) { return row.name == name && row.state == "running"; });
}

bool is_down(std::string const& node_state) {
    // Examples: "down*", "drained", "unknown". A '*' means that the node does not answer.
    return node_state.ends_with('*') || node_state.starts_with("down") || node_state.starts_with("drain") ||
           node_state.starts_with("fail") || node_state.starts_with("unknown");
}

bool is_complete(ClusterStatus const& status, int nodes_wanted) {
    return std::all_of(status.daemons.begin(), status.daemons.end(),
                       [](DaemonRow const& row) { return row.state == "running"; }) &&
           static_cast<int>(status.nodes.size()) == nodes_wanted &&
           std::none_of(status.nodes.begin(), status.nodes.end(),
                        [](NodeState const& node) { return is_down(node.state); });
}

void print_for_people(ClusterPaths const& paths, ClusterRecord const& record, ClusterStatus const& status,
                      bool complete) {
    fmt::print("cluster '{}' is {}: Slurm {}, profile {}, {} of {}, proctrack/{}, {}\n", paths.name(),
               complete ? "up" : "degraded", record.slurm, record.profile, count_text(record.nodes, "node"),
               count_text(record.slots, "slot"), to_string(record.proctrack), paths.state().string());
    for (auto const& row : status.daemons) {
        fmt::print("{:<12} {:>8}  {}{}\n", row.name, row.pid > 0 ? std::to_string(row.pid) : "-", row.state,
                   row.restarts == 0 ? "" : ", " + count_text(row.restarts, "restart"));
    }
    for (auto const& node : status.nodes) fmt::print("{:<12} {:>8}  {}\n", node.name, node.gres, node.state);
}

void print_json(ClusterPaths const& paths, ClusterRecord const& record, ClusterStatus const& status,
                bool complete) {
    nlohmann::ordered_json json{{"name", paths.name()},
                                {"state", complete ? "up" : "degraded"},
                                {"directory", paths.state().string()},
                                {"slurm", record.slurm},
                                {"profile", record.profile},
                                {"proctrack", to_string(record.proctrack)},
                                {"slots_per_node", record.slots},
                                {"daemons", nlohmann::json::array()},
                                {"nodes", nlohmann::json::array()}};
    for (auto const& row : status.daemons) {
        json["daemons"].push_back(
            {{"name", row.name}, {"pid", row.pid}, {"state", row.state}, {"restarts", row.restarts}});
    }
    for (auto const& node : status.nodes) {
        json["nodes"].push_back({{"name", node.name}, {"state", node.state}, {"gres", node.gres}});
    }
    fmt::print("{}\n", json.dump());
}

}  // namespace

Result<ProcessOutput> run_in_cluster(ClusterPaths const& paths, std::vector<std::string> const& argv,
                                     std::chrono::milliseconds timeout) {
    std::vector<std::string> login{own_executable().string(), "login",       "--dir=" + paths.base().string(),
                                   "--name=" + paths.name(),  "--user=root", "--"};
    login.insert(login.end(), argv.begin(), argv.end());
    return SystemProcessRunner().run({login, Environment::of_this_process(), timeout});
}

Result<std::vector<NodeState>> read_node_states(ClusterPaths const& paths,
                                                std::chrono::milliseconds timeout) {
    DET_TRY_ASSIGN(
        auto const output,
        run_in_cluster(paths, {"sinfo", "--noheader", "--Node", "--partition=compute", "--format=%N|%T|%G"},
                       timeout));
    if (output.exit_code != 0) {
        return Error{codes::slurm_unreachable, "slurmctld does not answer"}.noting(
            fmt::format("sinfo said: {}", trim(output.err)));
    }
    std::vector<NodeState> nodes;
    for (auto const line : split_lines(output.out)) {
        auto const fields = split(line, '|');
        if (fields.size() != 3) continue;
        nodes.push_back({std::string(fields[0]), std::string(fields[1]), std::string(fields[2])});
    }
    return nodes;
}

Result<int> run_status(ClusterPaths const& paths, Format format) {
    DET_TRY(require_root_user());
    DET_TRY_ASSIGN(auto const running, require_running(paths));
    ClusterStatus status;
    DET_TRY_ASSIGN(status.daemons, read_daemons(paths, running.init.pid()));
    if (is_running(status.daemons, controller_daemon)) {
        // If slurmctld does not answer, the command reports a degraded cluster without nodes and no error.
        status.nodes = read_node_states(paths, sinfo_limit).value_or(std::vector<NodeState>());
    }
    bool const complete = is_complete(status, running.record.nodes);
    auto const print = format == Format::json ? print_json : print_for_people;
    print(paths, running.record, status, complete);
    return complete ? 0 : to_int(ExitCode::could_not);
}

Result<int> run_list(std::filesystem::path const& base) {
    DET_TRY_ASSIGN(auto const clusters, find_clusters(base));
    for (auto const& paths : clusters) {
        DET_TRY_ASSIGN(auto const running, find_running(paths));
        auto const state = running ? fmt::format("up, {} of {}", count_text(running->record.nodes, "node"),
                                                 count_text(running->record.slots, "slot"))
                                   : std::string("down, files only");
        fmt::print("{}: {} ({})\n", paths.name(), state, paths.state().string());
    }
    return 0;
}

}  // namespace det::loopback
