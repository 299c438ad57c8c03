#include "node_step.hpp"

#include <det/protocol/task_identity.hpp>
#include <det/slurm/srun.hpp>
#include <det/slurm/step_process.hpp>

#include <csignal>
#include <fmt/format.h>

#include "run_environment.hpp"
#include "wait_for_step.hpp"

namespace det::launch::supervisor {
namespace {

std::string name_of(NodeStep const& step, RunPlan const& run) { return to_string(run.id) + "." + step.name; }

std::vector<std::string> render_node_step(BatchJob const& batch_job, RunPlan const& run,
                                          SupervisorContext const& context, NodeStep const& step) {
    slurm::StepRequest request;
    request.shape = step.has_gpus ? run.shape.shape : TrialShape{1, 1, SlotType::cpu};
    request.shape.nodes = static_cast<int>(run.shape.hosts.size());
    request.has_gres = batch_job.spec.has_gres;
    request.name = name_of(step, run);
    if (run.shape.is_part_of_job) request.hosts = run.hosts;
    // A node that fails must not end the tasks of the others.
    request.options = {"--kill-on-bad-exit=0"};
    request.command = {context.wrap_rank.parent_path() / "det-launch"};
    request.command.insert(request.command.end(), step.arguments.begin(), step.arguments.end());
    return slurm::render_srun(request);
}

/// At the start of a grace period Slurm signals the steps of the job, but not this process.
bool has_grace_begun(BatchJob const& batch_job, SupervisorContext const& context) {
    auto const job = context.slurm.query_job(batch_job.job);
    return job && *job && (*job)->state == slurm::JobState::running && (*job)->preempt_time;
}

}  // namespace

Result<NodeStepEnd> run_node_step(BatchJob const& batch_job, RunPlan const& run,
                                  SupervisorContext const& context, NodeStep const& step,
                                  std::function<bool()> const& is_stopped) {
    auto environment = step.environment;
    environment.unset(variables::spank);
    unset_batch_step(environment);
    auto const until = context.clock.steady_now() + step.limit;
    DET_TRY_ASSIGN(auto process,
                   slurm::StepProcess::start(render_node_step(batch_job, run, context, step), environment));
    if (!wait_for_step(process, until, context.clock, is_stopped)) {
        bool const is_late = context.clock.steady_now() >= until;
        process.signal(SIGKILL);
        (void)context.slurm.cancel_step(batch_job.job, name_of(step, run));
        return NodeStepEnd{std::nullopt, !is_late};
    }
    auto const exit_code = process.poll_exit();
    bool const is_signalled = exit_code != 0 && has_pending_notice();
    bool const is_in_grace = exit_code == 128 + SIGTERM && has_grace_begun(batch_job, context);
    return NodeStepEnd{exit_code, is_signalled || is_in_grace};
}

Error stopped_before_step(RunId run) {
    return {codes::interrupted,
            fmt::format("run {} must not start any more: the job ends, or the user stops the trial",
                        to_string(run))};
}

}  // namespace det::launch::supervisor
