#include "cluster_record.hpp"

#include <det/foundation/text.hpp>

#include <fmt/format.h>
#include <map>
#include <unistd.h>

#include "error_codes.hpp"

namespace det::loopback {

std::string render_cluster_record(ClusterRecord const& record) {
    return fmt::format("pid {}\nstart_time {}\nnodes {}\nslots {}\nproctrack {}\nslurm {}\nprofile {}\n",
                       record.init.pid, record.init.start_time, record.nodes, record.slots,
                       to_string(record.proctrack), record.slurm, record.profile);
}

std::optional<ClusterRecord> parse_cluster_record(std::string_view text) {
    std::map<std::string_view, std::string_view> values;
    for (auto const line : split_lines(text)) {
        auto const blank = line.find(' ');
        if (blank == std::string_view::npos) return std::nullopt;
        values[line.substr(0, blank)] = line.substr(blank + 1);
    }
    auto const pid = parse_integer<pid_t>(values["pid"]);
    auto const start_time = parse_integer<std::uint64_t>(values["start_time"]);
    auto const nodes = parse_integer<int>(values["nodes"]);
    auto const slots = parse_integer<int>(values["slots"]);
    auto const proctrack = parse_proctrack(values["proctrack"]);
    if (!pid || !start_time || !nodes || !slots || !proctrack) return std::nullopt;
    return ClusterRecord{
        {*pid, *start_time},           *nodes, *slots, *proctrack, std::string(values["slurm"]),
        std::string(values["profile"])};
}

Status write_cluster_record(ClusterPaths const& paths, ClusterRecord const& record) {
    return write_file(paths.record(), render_cluster_record(record), 0644);
}

Result<std::optional<RunningCluster>> find_running(ClusterPaths const& paths) {
    if (!path_exists(paths.record())) return std::optional<RunningCluster>();
    DET_TRY_ASSIGN(auto const text, read_file(paths.record()));
    auto const record = parse_cluster_record(text);
    if (!record) return std::optional<RunningCluster>();
    auto init = ProcessHandle::open(record->init);
    if (!init) return std::optional<RunningCluster>();
    return std::optional(RunningCluster{*record, *std::move(init)});
}

Status require_root_user() {
    if (::geteuid() == 0) return Ok{};
    return Error{codes::permission,
                 "this needs root: it makes network, mount and PID namespaces, and device nodes",
                 "run it with 'sudo'"};
}

Result<RunningCluster> require_running(ClusterPaths const& paths) {
    DET_TRY_ASSIGN(auto running, find_running(paths));
    if (running) return *std::move(running);
    return Error{codes::no_such_cluster, fmt::format("no cluster '{}'", paths.name()),
                 fmt::format("run 'cluster up --name {}'", paths.name())};
}

}  // namespace det::loopback
