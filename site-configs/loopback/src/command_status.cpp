#include <det/foundation/text.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "control.hpp"
#include "daemons.hpp"
#include "host_pids.hpp"
#include "inside.hpp"
#include "keeper_record.hpp"
#include "requirements.hpp"

namespace det::loopback {
namespace {

constexpr std::chrono::seconds sinfo_limit{10};

struct DaemonRow {
    std::string name;
    pid_t pid;  // as the host knows it; -1 where there is none
    std::string state;
    int restarts = 0;
};

struct ClusterStatus {
    std::vector<DaemonRow> daemons;
    std::vector<NodeState> nodes;
};

Result<std::vector<DaemonRow>> read_daemons(ClusterPaths const& paths, pid_t keeper) {
    DET_TRY_ASSIGN(auto const answer, ask_keeper(paths, "status"));
    auto const host_pids = find_host_pids(keeper);
    std::vector<DaemonRow> rows{{"keeper", keeper, "running", 0}};
    for (auto const line : split_lines(answer)) {
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
    // "down*", "drained", "unknown" ...; a '*' says that the node does not answer.
    return node_state.ends_with('*') || node_state.starts_with("down") || node_state.starts_with("drain") ||
           node_state.starts_with("fail") || node_state.starts_with("unknown");
}

bool is_whole(ClusterStatus const& status, int nodes_wanted) {
    return std::all_of(status.daemons.begin(), status.daemons.end(),
                       [](DaemonRow const& row) { return row.state == "running"; }) &&
           static_cast<int>(status.nodes.size()) == nodes_wanted &&
           std::none_of(status.nodes.begin(), status.nodes.end(),
                        [](NodeState const& node) { return is_down(node.state); });
}

void print_for_people(ClusterPaths const& paths, KeeperRecord const& record, ClusterStatus const& status,
                      bool whole) {
    fmt::print("cluster '{}' is {}: {} nodes of {} slots, proctrack/{}, {}\n", paths.name(),
               whole ? "up" : "degraded", record.nodes, record.slots, to_string(record.proctrack),
               paths.state().string());
    for (auto const& row : status.daemons) {
        fmt::print("{:<12} {:>8}  {}{}\n", row.name, row.pid > 0 ? std::to_string(row.pid) : "-", row.state,
                   row.restarts == 0 ? "" : fmt::format(", {} restarts", row.restarts));
    }
    for (auto const& node : status.nodes) fmt::print("{:<12} {:>8}  {}\n", node.name, node.gres, node.state);
}

void print_json(ClusterPaths const& paths, KeeperRecord const& record, ClusterStatus const& status,
                bool whole) {
    nlohmann::ordered_json json{{"name", paths.name()},
                                {"state", whole ? "up" : "degraded"},
                                {"directory", paths.state().string()},
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

Result<int> run_status(ClusterPaths const& paths, Format format) {
    DET_TRY(require_root());
    DET_TRY_ASSIGN(auto const running, require_running(paths));
    ClusterStatus status;
    DET_TRY_ASSIGN(status.daemons, read_daemons(paths, running.keeper.pid()));
    if (is_running(status.daemons, controller_daemon)) {
        // A slurmctld that does not answer is a state of the cluster, not a failure of this command.
        status.nodes = read_node_states(paths, sinfo_limit).value_or(std::vector<NodeState>());
    }
    bool const whole = is_whole(status, running.record.nodes);
    auto const print = format == Format::json ? print_json : print_for_people;
    print(paths, running.record, status, whole);
    return whole ? 0 : to_int(ExitCode::could_not);
}

}  // namespace det::loopback
