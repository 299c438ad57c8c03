#include <det/foundation/files.hpp>
#include <det/launch/supervisor/memory_cleanup.hpp>
#include <det/protocol/host_list.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/staged_file.hpp>
#include <det/protocol/task_identity.hpp>
#include <det/slurm/srun.hpp>
#include <det/slurm/step_process.hpp>

#include <algorithm>
#include <csignal>
#include <fmt/format.h>

#include "make_step_request.hpp"
#include "run_environment.hpp"
#include "wait_for_step.hpp"

namespace det::launch::supervisor {

bool keeps_in_memory(ExperimentSpec const& spec) {
    Json::json_pointer const key("/slurm/memory_checkpoints");
    return spec.launch != Launch::script && spec.config->contains(key) && spec.config->at(key).is_object();
}

bool may_leave_nodes(BatchJob const& batch_job, SupervisorContext const& context, RunId id,
                     std::string const& last_hosts, std::filesystem::path const& base) {
    if (!staged_files(batch_job.spec.config).empty()) return false;
    if (!keeps_in_memory(batch_job.spec) || id.number == 0) return true;
    auto const hosts = expand_host_list(last_hosts);
    if (!hosts || std::ranges::find(*hosts, batch_job.incarnation.batch_host) == hosts->end()) return false;
    auto const job = context.environment.find("SLURM_JOB_ID").value_or("");
    auto const ranks = checkpoint::count_kept_ranks(
        {base, job, to_string(id.trial), {}, std::to_string(batch_job.incarnation.restart_count)},
        id.number - 1);
    return ranks == 0 || ranks > batch_job.spec.shape.ranks_per_node();
}

Status remove_memory_snapshots(checkpoint::MemoryPlace const& place) {
    for (auto const& directory : checkpoint::find_memory_directories(place)) DET_TRY(remove_tree(directory));
    return Ok{};
}

void remove_leftover_snapshots(std::filesystem::path const& base, std::string const& own_job,
                               slurm::SlurmClient& slurm) {
    for (auto const& left : checkpoint::list_memory_directories(base)) {
        auto const job = slurm::parse_job_ref(left.job);
        if (left.job == own_job || !job) continue;
        auto const status = slurm.query_job(*job);
        if (status && (!*status || slurm::is_over((*status)->state))) (void)remove_tree(left.path);
    }
}

void remove_snapshots_on_nodes(BatchJob const& batch_job, SupervisorContext const& context, TrialId trial,
                               std::vector<std::string> const& except) {
    constexpr std::chrono::seconds limit{10};
    auto const job = context.environment.find("SLURM_JOB_ID");
    auto nodes = expand_host_list(batch_job.hosts);
    if (!job || !nodes) return;
    std::erase_if(*nodes, [&](auto const& node) { return std::ranges::find(except, node) != except.end(); });
    if (nodes->empty()) return;
    slurm::CommandOnNodes request;
    request.nodes = *nodes;
    request.has_input = false;
    request.command = {context.wrap_rank.parent_path() / "det-launch",
                       "remove-snapshots",
                       "--job",
                       *job,
                       "--trial",
                       to_string(trial)};
    auto environment = context.environment;
    environment.unset(variables::spank);
    unset_batch_step(environment);
    auto step = slurm::StepProcess::start(slurm::render_srun(request), environment);
    auto const until = context.clock.steady_now() + limit;
    bool const has_ended = step && wait_for_step(*step, until, context.clock);
    if (has_ended && step->poll_exit() == 0) return;
    if (step && !has_ended) step->signal(SIGKILL);
    context.log(fmt::format(
        "trial {}: what its ranks have kept in /dev/shm may stay there until the next job of this user",
        to_string(trial)));
}

}  // namespace det::launch::supervisor
