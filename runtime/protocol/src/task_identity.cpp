#include <det/foundation/text.hpp>
#include <det/protocol/host_list.hpp>
#include <det/protocol/task_identity.hpp>

#include <algorithm>
#include <fmt/format.h>

namespace det {
namespace {

/// Returns the first of `names` that is set. Variables of the step come before those of the job.
Result<std::string> require(VariableLookup const& lookup, std::vector<std::string_view> const& names) {
    for (auto const name : names) {
        if (auto value = lookup(name)) return *std::move(value);
    }
    return Error{codes::not_in_slurm,
                 fmt::format("{} is not set: this is no task of a Slurm step", names.front()),
                 "start it with srun"};
}

Result<int> require_number(VariableLookup const& lookup, std::vector<std::string_view> const& names) {
    DET_TRY_ASSIGN(auto const text, require(lookup, names));
    auto const number = parse_integer<int>(text);
    if (!number || *number < 0) {
        return Error{codes::slurm_output, fmt::format("{}='{}' is not a count", names.front(), text)};
    }
    return *number;
}

/// The node of rank 0, as srun or a wrapper has recorded it for this step; otherwise the first node. All
/// tasks of a step must come to the same answer, so what a single task sees does not count.
Result<std::string> find_chief_host(TaskIdentity const& task, VariableLookup const& lookup) {
    auto const recorded = lookup(variables::step_chief).value_or("");
    auto const key = render_step_chief(task.job_id, task.step_id, "");
    if (recorded.starts_with(key) && recorded.size() > key.size()) return recorded.substr(key.size());
    return first_host(task.hosts);
}

/// Numbers the nodes so that the chief's is the first one. The others keep their order.
Status put_chief_first(TaskIdentity& task, std::vector<int> counts) {
    DET_TRY_ASSIGN(auto hosts, expand_host_list(task.hosts));
    auto const chief = std::ranges::find(hosts, task.chief_host) - hosts.begin();
    bool const is_listed = chief < std::ssize(hosts) && hosts.size() == counts.size();
    if (chief == 0 || !is_listed) return Ok{};
    std::rotate(hosts.begin(), hosts.begin() + chief, hosts.begin() + chief + 1);
    std::rotate(counts.begin(), counts.begin() + chief, counts.begin() + chief + 1);
    if (task.cross_rank <= chief) task.cross_rank = task.cross_rank == chief ? 0 : task.cross_rank + 1;
    task.hosts = compress_host_list(hosts);
    task.tasks_per_node = compress_counts(counts);
    return Ok{};
}

}  // namespace

std::string render_step_chief(std::string_view job_id, std::string_view step_id, std::string_view host) {
    return fmt::format("{}.{} {}", job_id, step_id, host);
}

Result<TaskIdentity> identify_task(VariableLookup const& lookup) {
    TaskIdentity task;
    DET_TRY_ASSIGN(task.job_id, require(lookup, {"SLURM_JOB_ID", "SLURM_JOBID"}));
    DET_TRY_ASSIGN(task.step_id, require(lookup, {"SLURM_STEP_ID", "SLURM_STEPID"}));
    DET_TRY_ASSIGN(task.rank, require_number(lookup, {"SLURM_PROCID"}));
    DET_TRY_ASSIGN(task.local_rank, require_number(lookup, {"SLURM_LOCALID"}));
    DET_TRY_ASSIGN(task.cross_rank, require_number(lookup, {"SLURM_NODEID"}));
    DET_TRY_ASSIGN(task.size,
                   require_number(lookup, {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_NPROCS"}));
    DET_TRY_ASSIGN(task.cross_size, require_number(lookup, {"SLURM_STEP_NUM_NODES", "SLURM_NNODES"}));
    DET_TRY_ASSIGN(task.hosts, require(lookup, {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"}));
    DET_TRY_ASSIGN(task.tasks_per_node,
                   require(lookup, {"SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"}));
    DET_TRY_ASSIGN(task.chief_host, find_chief_host(task, lookup));
    DET_TRY_ASSIGN(auto const counts, expand_counts(task.tasks_per_node));
    bool const consistent = static_cast<int>(counts.size()) == task.cross_size && task.rank < task.size &&
                            task.cross_rank < task.cross_size &&
                            task.local_rank < counts[static_cast<std::size_t>(task.cross_rank)];
    if (!consistent) {
        return Error{
            codes::slurm_output,
            fmt::format("task {} of {} on node {} of {} does not fit SLURM_STEP_TASKS_PER_NODE='{}'",
                        task.rank, task.size, task.cross_rank, task.cross_size, task.tasks_per_node)};
    }
    task.local_size = counts[static_cast<std::size_t>(task.cross_rank)];
    DET_TRY(put_chief_first(task, counts));
    return task;
}

Result<TaskIdentity> identify_batch_script(VariableLookup const& lookup) {
    TaskIdentity task;
    DET_TRY_ASSIGN(task.job_id, require(lookup, {"SLURM_JOB_ID", "SLURM_JOBID"}));
    DET_TRY_ASSIGN(task.hosts, require(lookup, {variables::run_hosts, "SLURM_JOB_NODELIST"}));
    DET_TRY_ASSIGN(task.chief_host, require(lookup, {"SLURMD_NODENAME"}));
    task.step_id = "batch";
    task.tasks_per_node = "1";
    return task;
}

std::string task_key(TaskIdentity const& task) {
    return fmt::format("{}.{}.{}", task.job_id, task.step_id, task.rank);
}

std::chrono::seconds silence_limit(VariableLookup const& lookup) {
    constexpr std::int64_t least = 4, usual = 120, most = 86'400;
    auto const text = lookup(variables::silence);
    auto const number = text ? parse_integer<std::int64_t>(*text) : std::nullopt;
    return std::chrono::seconds(std::clamp(number.value_or(usual), least, most));
}

Variables rank_variables(TaskIdentity const& task, std::string_view host_suffix) {
    return {{"RANK", std::to_string(task.rank)},
            {"WORLD_SIZE", std::to_string(task.size)},
            {"LOCAL_RANK", std::to_string(task.local_rank)},
            {"LOCAL_WORLD_SIZE", std::to_string(task.local_size)},
            {"LOCAL_SIZE", std::to_string(task.local_size)},
            {"CROSS_RANK", std::to_string(task.cross_rank)},
            {"CROSS_SIZE", std::to_string(task.cross_size)},
            {"GROUP_RANK", std::to_string(task.cross_rank)},
            {"GROUP_WORLD_SIZE", std::to_string(task.cross_size)},
            {"MASTER_ADDR", add_host_suffix(task.chief_host, host_suffix)}};
}

}  // namespace det
