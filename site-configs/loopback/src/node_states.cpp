#include "node_states.hpp"

#include <det/foundation/executable.hpp>
#include <det/foundation/process.hpp>
#include <det/foundation/text.hpp>

#include <fmt/format.h>

#include "error_codes.hpp"

namespace det::loopback {

namespace {

/// Runs this program's 'login' command as root.
Result<ProcessOutput> run_in_cluster(ClusterPaths const& paths, std::vector<std::string> const& argv,
                                     std::chrono::milliseconds timeout) {
    std::vector<std::string> login{own_executable().string(), "login",       "--dir=" + paths.base().string(),
                                   "--name=" + paths.name(),  "--user=root", "--"};
    login.insert(login.end(), argv.begin(), argv.end());
    return SystemProcessRunner().run({login, Environment::of_this_process(), timeout});
}

}  // namespace

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

}  // namespace det::loopback
