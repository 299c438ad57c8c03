// Runs one trial after another in a share of the job. A lane is idle; or its run goes on; or the outcome of
// the run is known, while the step may still run. wait_and_clear() makes the lane idle again.
//
// - lane_begin.cpp: from the trial to the run's step
// - lane_checks.cpp: what is looked at while the run goes on
// - lane_end.cpp: why the run has ended, what follows, and what is recorded
//
// This file has what the supervisor does to the run's step. A step that is replaced in the same job is also
// cancelled by scancel, because a step whose srun is gone keeps its CPUs and GPUs. Ranks are asked to stop by
// a file and a line to srun's input, not by a signal, which proctrack/linuxproc would send to every process
// of the program.
#include "lane.hpp"

#include <det/protocol/json.hpp>
#include <det/protocol/step_requests.hpp>
#include <det/protocol/task_identity.hpp>

#include <csignal>
#include <fmt/format.h>
#include <utility>

namespace det::launch::supervisor {

void Lane::ask_to_stop() {
    if (!run_->step) return;
    send_request(step_requests::stop);
    if (run_->nodes) run_->nodes->request(transport::node_requests::stop);
    context_.log(fmt::format("run {} is asked to stop ({})", to_string(id()),
                             lifecycle::to_string(run_->machine.stop_reason())));
    write_request([&] { return run_->record.ask_to_stop(run_->machine.stop_reason()); });
}

void Lane::show_stacks() {
    context_.log(fmt::format("run {} hangs: no step was reported and no collective operation ended for {} s",
                             to_string(id()), *batch_job_.spec.hang_timeout_s));
    if (!run_->step) return;
    send_request(step_requests::stacks);
    if (run_->nodes) run_->nodes->request(transport::node_requests::stacks);
    write_request([&] { return run_->record.write_stacks_request(); });
}

/// Writes the file of a request, for wrappers that the line to srun does not reach: they look for the file
/// with their next heartbeat. Does nothing if the file system does not answer.
template <class Write>
void Lane::write_request(Write const& write) {
    if (!can_write_storage()) return;
    if (auto const written = write(); !written)
        context_.log(
            fmt::format("the file of a request to run {}: {}", to_string(id()), written.error().message));
}

void Lane::send_request(std::string_view request) {
    if (!run_->step) return;
    if (auto const sent = run_->step->write_line(request); !sent)
        context_.log(
            fmt::format("run {} may see the request late: {}", to_string(id()), sent.error().message));
}

void Lane::kill_step() {
    context_.log(fmt::format("run {} is killed", to_string(id())));
    if (batch_job_.is_script()) return send_request(step_requests::end);
    if (run_->step) run_->step->signal(SIGTERM);  // srun ends all tasks of the step on all nodes
}

void Lane::signal_script(int number) {
    run_->was_signalled = run_->was_signalled || number != SIGTERM;
    if (run_->step) run_->step->signal(number);
}

void Lane::notify_script() {
    if (!run_->step || std::exchange(run_->was_notified, true)) return;
    send_request(step_requests::notice);
    context_.log(fmt::format("run {}: Slurm preempts the job: the script gets the notice", to_string(id())));
}

void Lane::abandon_step() {
    context_.log(fmt::format("the step of run {} does not end: it is given up", to_string(id())));
    mark_abandoned();
    if (run_->step) run_->step->signal(SIGKILL);
    cancel_step();
}

void Lane::mark_abandoned() {
    if (auto const marked = run_->record.mark_abandoned(); !marked)
        context_.log(fmt::format("run {}: {}", to_string(id()), marked.error().message));
}

/// A step whose srun is gone or ignores a signal still holds its CPUs and memory, so that the next step could
/// not start.
void Lane::cancel_step() {
    auto const cleared = batch_job_.is_script() ? context_.slurm.cancel_steps(batch_job_.job)
                                                : context_.slurm.cancel_step(batch_job_.job, to_string(id()));
    if (!cleared)
        context_.log(fmt::format("what is left of run {} may keep its CPUs and memory: {}", to_string(id()),
                                 cleared.error().message));
}

void Lane::note_allocation(std::optional<slurm::JobStatus> const& job) {
    if (has_new_allocation(job) && can_write_storage()) record_allocation(*job);
}

bool Lane::has_new_allocation(std::optional<slurm::JobStatus> const& job) const {
    if (!job || !lifecycle::is_same_incarnation(batch_job_.incarnation, *job)) return false;
    bool const has_ended = job->state == slurm::JobState::completing || slurm::is_over(job->state);
    return has_ended || !run_->has_allocation;
}

void Lane::record_allocation(slurm::JobStatus const& job) {
    run_->has_allocation = true;
    auto const recorded = run_->record.record_allocation(context_.clock.now(), job);
    if (!recorded) context_.log(fmt::format("run {}: {}", to_string(id()), recorded.error().message));
}

void Lane::notify(std::string_view event, std::string const& message, std::string_view next) const {
    Json body{{"trial", to_string(id().trial)},
              {"run", id().number},
              {"job", slurm::to_string(batch_job_.job)},
              {"hosts", run_->plan.hosts},
              {"time", format_utc(context_.clock.now())}};
    if (!message.empty()) body["message"] = message;
    if (!next.empty()) body["next"] = next;
    hook_.notify(event, body);
}

void Lane::wait_and_clear() {
    if (run_ && run_->step) run_->step->wait();
    forget_ended_tasks();
    if (run_) ports_.release(run_->plan.ports);
    run_.reset();
}

}  // namespace det::launch::supervisor
