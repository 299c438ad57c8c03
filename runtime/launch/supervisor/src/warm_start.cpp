#include "warm_start.hpp"

#include <det/foundation/files.hpp>
#include <det/protocol/host_list.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/task_identity.hpp>
#include <det/slurm/srun.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <unistd.h>

#include "run_environment.hpp"
#include "wait_for_step.hpp"

namespace det::launch::supervisor {
namespace {

/// What earlier executions have left, whose supervisors were killed: it has the environments of their ranks.
void remove_older_requests(std::filesystem::path const& own) {
    for (auto const& name : list_directory(own.parent_path()).value_or(std::vector<std::string>())) {
        if (name != own.filename()) (void)remove_tree(own.parent_path() / name);
    }
}

constexpr std::chrono::seconds has_reported_within{30};  // a keeper that has just been started

}  // namespace

bool is_warm_started(ExperimentSpec const& spec) {
    Json::json_pointer const key("/slurm/warm_start");
    bool const is_possible =
        spec.launch != Launch::script && spec.lanes <= 1 && !spec.container && spec.forward_signals.empty();
    return is_possible && spec.config->contains(key) && spec.config->at(key) == Json(true);
}

WarmPlace warm_start_place(BatchJob const& batch_job, TrialId trial) {
    // The trial's number is that of the experiment too; other experiments have other jobs.
    auto const execution =
        fmt::format("{}-{}", slurm::to_string(batch_job.job), batch_job.incarnation.restart_count);
    return {fmt::format("det-warm-{}-{}", execution, to_string(trial)),
            batch_job.experiment.trial(trial.index).path() / "warm-start" / execution};
}

std::vector<std::string> WarmStart::find_waiting() const {
    return nodes_ ? nodes_->find_waiting() : std::vector<std::string>();
}

/// The srun of a step whose slurmstepd was killed on a node does not end by itself: it is killed here when
/// all keepers of the step have certainly ended. One that may live is not, and costs a process only. A keeper
/// of a step that has just begun may not have reported yet.
void WarmStart::forget_ended_steps() {
    auto const now = context_.clock.steady_now();
    std::erase_if(steps_, [&](auto& step) {
        if (step.srun.poll_exit()) return true;
        return nodes_ && now - step.began > has_reported_within &&
               !nodes_->may_have_keeper_of(step.number, step.hosts);
    });
}

/// A step that has lost its processes on a node does not end in order.
bool WarmStart::has_lost_keeper() const {
    return nodes_ && std::ranges::any_of(steps_, [&](auto const& step) {
               return !nodes_->find_ended(step.number, step.hosts).empty();
           });
}

void WarmStart::begin(TrialId trial, std::vector<std::string> const& except) {
    auto nodes = expand_host_list(batch_job_.hosts);
    if (!is_warm_started(batch_job_.spec) || !nodes) return;
    auto const place = warm_start_place(batch_job_, trial);
    if (directory_ != place.directory) remove_older_requests(place.directory);
    directory_ = place.directory;
    if (!nodes_) nodes_ = WarmNodes::start(batch_job_, context_);
    forget_ended_steps();
    auto const leave_out = [&](std::vector<std::string> const& those) {
        std::erase_if(*nodes,
                      [&](auto const& node) { return std::ranges::find(those, node) != those.end(); });
    };
    leave_out(except);
    if (nodes_) leave_out(nodes_->find_kept());
    has_lost_node_ = has_lost_node_ || !except.empty();
    if (nodes->empty()) return;
    slurm::CommandOnNodes request;
    request.nodes = *nodes;
    request.cpus = batch_job_.cpus_per_node;
    auto const& shape = batch_job_.spec.shape;
    if (batch_job_.spec.has_gres && shape.slot_type != SlotType::cpu) request.gpus = shape.slots_per_node;
    // The loss of a node ends nothing on the others. All tasks have the input, whatever SLURM_STDINMODE is:
    // they end with it.
    request.options = {"--job-name=warm-start", "--no-kill",  "--kill-on-bad-exit=0", "--wait=0",
                       "--cpu-bind=none",       "--input=all"};
    request.command = {context_.wrap_rank.parent_path() / "det-launch", "keep-interpreters", "--place",
                       place.to_text()};
    auto environment = context_.environment;
    environment.unset(variables::spank);
    unset_batch_step(environment);
    auto const number = ++steps_begun_;
    if (nodes_) environment.set(KeeperLinkPlace::variable, nodes_->describe_place(number));
    auto step = slurm::StepProcess::start(slurm::render_srun(request), environment);
    if (step)
        steps_.push_back({number, *std::move(nodes), context_.clock.steady_now(), *std::move(step)});
    else
        context_.log(fmt::format("slurm.warm_start: no interpreters wait: {}", step.error().message));
}

void WarmStart::end(bool is_node_lost) {
    // srun does not end before its tasks on a lost node do.
    std::chrono::seconds const limit(is_node_lost || has_lost_node_ || has_lost_keeper() ? 1 : 5);
    auto const until = context_.clock.steady_now() + limit;
    for (auto& step : steps_) step.srun.close_input();
    for (auto& step : steps_) {
        // After that Slurm ends what is left, when the job ends.
        if (!wait_for_step(step.srun, until, context_.clock)) step.srun.signal(SIGKILL);
    }
    steps_.clear();
    nodes_.reset();
    if (!directory_.empty()) {
        (void)remove_tree(directory_);
        (void)::rmdir(directory_.parent_path().c_str());  // unless another execution has files there
    }
    directory_.clear();
    has_lost_node_ = false;
}

}  // namespace det::launch::supervisor
