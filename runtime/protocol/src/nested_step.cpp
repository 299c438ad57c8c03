#include <det/foundation/text.hpp>
#include <det/protocol/host_list.hpp>
#include <det/protocol/nested_step.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <iterator>

namespace det {
namespace {

/// The programs that the mpirun of Open MPI, PRRTE and MPICH starts on nodes. MPICH starts its own on all
/// nodes.
constexpr std::string_view daemons_on_other_nodes[] = {"orted", "prted"};

bool starts_from_other_nodes_only(std::string_view program) {
    auto const name = program.substr(program.rfind('/') + 1);
    return std::ranges::find(daemons_on_other_nodes, name) != std::end(daemons_on_other_nodes);
}

/// The first number of "2", "2-4" or "2,4".
std::optional<int> first_number(std::optional<std::string> const& text) {
    if (!text) return std::nullopt;
    return parse_integer<int>(std::string_view(*text).substr(0, text->find_first_of("-,:")));
}

}  // namespace

Status check_nested_step(NestedStep const& step, VariableLookup const& caller) {
    // A job that was submitted from within a run inherits the variables of the run.
    bool const is_in_run = caller(variables::run_job) == caller("SLURM_JOB_ID");
    bool const is_supervised = !caller(variables::run_path).value_or("").empty();
    if (!is_in_run || !is_supervised) return Ok{};
    auto const hosts = expand_host_list(caller(variables::run_hosts).value_or(""));
    auto const host = caller(variables::agent_id).value_or("");
    if (!hosts || hosts->size() < 2 || host.empty() || host == hosts->front()) return Ok{};
    auto const nodes = step.nodes + (starts_from_other_nodes_only(step.program) ? 1 : 0);
    if (nodes < static_cast<int>(hosts->size())) return Ok{};
    return Error{
        codes::misuse,
        fmt::format("a step over all {} nodes of this run is refused on node {}: the entrypoint runs once "
                    "on each node, so node {} starts the step too",
                    hosts->size(), host, hosts->front()),
        fmt::format("start the ranks by 'det-launch torch_distributed -- CMD', 'det-launch mpi -- CMD' or "
                    "slurm.launch: rank; or call srun only where $DET_AGENT_ID is {}",
                    hosts->front())};
}

int count_step_nodes(SrunArguments const& arguments) {
    auto const listed = expand_host_list(arguments.node_list.value_or(""));
    auto const by_list =
        listed && !listed->empty() ? std::optional(static_cast<int>(listed->size())) : std::nullopt;
    int const nodes = first_number(arguments.nodes).value_or(by_list.value_or(1));
    return std::max(1, std::min(nodes, first_number(arguments.tasks).value_or(nodes)));
}

}  // namespace det
