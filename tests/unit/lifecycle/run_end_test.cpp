#include <det/lifecycle/run_end.hpp>

#include <boost/test/unit_test.hpp>

using namespace det;
using namespace det::lifecycle;
using slurm::JobState;

namespace run_end_test {

constexpr UtcTime noon{1'795'262'400'000'000};

/// A run that ended with exit code 0 while its job runs and without any request.
RunFacts quiet_end() {
    RunFacts facts;
    facts.incarnation = {0, "n0"};
    facts.job = slurm::JobStatus{};
    facts.job->state = JobState::running;
    facts.job->batch_host = "n0";
    facts.job->end_time = noon;
    facts.restarts_max = 2;
    return facts;
}

struct Row {
    char const* what;
    void (*change)(RunFacts&);
    Cause cause;
    NextAction next_action;
};

constexpr Row table[] = {
    {"exit 0 is finished", [](RunFacts&) {}, Cause::finished, NextAction::stop},
    {"a failure is restarted in place", [](RunFacts& f) { f.step_exit_code = 1; }, Cause::failed,
     NextAction::restart_in_place},
    {"a run whose checkpoint is damaged is no failure",
     [](RunFacts& f) {
         f.step_exit_code = 1;
         f.damaged_checkpoint = "checkpoint 1 is damaged";
         f.restarts = f.restarts_max;
         f.repeats_failure = true;
     },
     Cause::checkpoint_damaged, NextAction::restart_in_place},
    {"a run whose checkpoint is damaged is queued again if it loses its nodes",
     [](RunFacts& f) {
         f.step_exit_code = 1;
         f.damaged_checkpoint = "checkpoint 1 is damaged";
         f.has_preempted_exit_code = true;
     },
     Cause::checkpoint_damaged, NextAction::requeue},
    {"a program that goes on without a damaged checkpoint finishes",
     [](RunFacts& f) { f.damaged_checkpoint = "checkpoint 1 is damaged"; }, Cause::finished,
     NextAction::stop},
    {"a run that hangs has failed, whatever its checkpoint is",
     [](RunFacts& f) {
         f.step_exit_code = 137;
         f.was_killed = true;
         f.hung_for = std::chrono::seconds(60);
         f.damaged_checkpoint = "checkpoint 1 is damaged";
     },
     Cause::hung, NextAction::restart_in_place},
    {"a run that saves because more nodes are idle is queued again",
     [](RunFacts& f) {
         f.stop_reason = StopReason::grow;
         f.preemption_acknowledged = true;
     },
     Cause::preempted, NextAction::requeue},
    {"a run that the user pauses while it saves to grow is paused",
     [](RunFacts& f) {
         f.stop_reason = StopReason::grow;
         f.preemption_acknowledged = true;
         f.desired = DesiredState::pause;
     },
     Cause::paused, NextAction::requeue_held},
    {"a run that finishes while it is asked to grow is finished",
     [](RunFacts& f) {
         f.stop_reason = StopReason::grow;
         f.says_done = true;
     },
     Cause::finished, NextAction::stop},
    {"an idle run ends, and is not restarted",
     [](RunFacts& f) {
         f.stop_reason = StopReason::idle;
         f.preemption_acknowledged = true;
     },
     Cause::idle, NextAction::stop},
    {"an idle run that does not stop is no crash",
     [](RunFacts& f) {
         f.stop_reason = StopReason::idle;
         f.step_exit_code = 137;
         f.was_killed = true;
     },
     Cause::idle, NextAction::stop},
    {"an idle run is not requeued because its job is preempted meanwhile",
     [](RunFacts& f) {
         f.stop_reason = StopReason::idle;
         f.job->preempt_time = noon;
         f.preemption_acknowledged = true;
     },
     Cause::idle, NextAction::stop},
    {"an idle run that fails when it is asked to stop is no crash",
     [](RunFacts& f) {
         f.stop_reason = StopReason::idle;
         f.step_exit_code = 1;
     },
     Cause::idle, NextAction::stop},
    {"an idle run that finishes without having seen the request is finished",
     [](RunFacts& f) { f.stop_reason = StopReason::idle; }, Cause::finished, NextAction::stop},
    {"an idle run that the user pauses meanwhile is paused",
     [](RunFacts& f) {
         f.stop_reason = StopReason::idle;
         f.desired = DesiredState::pause;
         f.preemption_acknowledged = true;
     },
     Cause::paused, NextAction::requeue_held},
    {"an idle run that the user cancels meanwhile is cancelled",
     [](RunFacts& f) {
         f.stop_reason = StopReason::idle;
         f.desired = DesiredState::cancel;
         f.preemption_acknowledged = true;
     },
     Cause::canceled, NextAction::stop},
    {"a trial that the search stopped never continues",
     [](RunFacts& f) {
         f.search.end = "2 of 7 trials are better";
         f.stop_reason = StopReason::search;
         f.preemption_acknowledged = true;
     },
     Cause::stopped_by_search, NextAction::stop},
    {"the search's stop wins over a preemption",
     [](RunFacts& f) {
         f.search.end = "2 of 7 trials are better";
         f.job->preempt_time = noon;
         f.preemption_acknowledged = true;
     },
     Cause::stopped_by_search, NextAction::stop},
    {"the search's stop wins over a pause and a failure",
     [](RunFacts& f) {
         f.search.end = "2 of 7 trials are better";
         f.desired = DesiredState::pause;
         f.step_exit_code = 1;
     },
     Cause::stopped_by_search, NextAction::stop},
    {"a cancelled trial is cancelled, though the search had stopped it",
     [](RunFacts& f) {
         f.search.end = "2 of 7 trials are better";
         f.desired = DesiredState::cancel;
     },
     Cause::canceled, NextAction::stop},
    {"a trial that ends by itself before it was asked is finished",
     [](RunFacts& f) { f.search.end = "2 of 7 trials are better"; }, Cause::finished, NextAction::stop},
    {"a program without acknowledgement that was asked was stopped",
     [](RunFacts& f) {
         f.search.end = "2 of 7 trials are better";
         f.stop_reason = StopReason::search;
     },
     Cause::stopped_by_search, NextAction::stop},
    {"a trial that trained to the last rung is finished",
     [](RunFacts& f) {
         f.search.end = "it has trained 900 batches";
         f.search.is_complete = true;
         f.stop_reason = StopReason::search;
     },
     Cause::finished, NextAction::stop},
    {"a job with a time limit that was requeued shows the end of its next execution",
     [](RunFacts& f) {
         f.job->state = JobState::completing;
         f.job->restarts = 1;
         f.notice_received = true;
         f.gets_notices = true;
     },
     Cause::preempted, NextAction::left_to_slurm},
    {"a trial that trained to the last rung is finished, though Slurm takes the nodes",
     [](RunFacts& f) {
         f.search.end = "it has trained 900 batches";
         f.search.is_complete = true;
         f.job->state = JobState::completing;
         f.job->end_time.reset();
     },
     Cause::finished, NextAction::stop},
    {"a trial that saves at the last rung because it was asked was ended by the search",
     [](RunFacts& f) {
         f.search.end = "it has trained 900 batches";
         f.search.is_complete = true;
         f.preemption_acknowledged = true;
     },
     Cause::stopped_by_search, NextAction::stop},
    {"reports that the search can't use end the trial at once",
     [](RunFacts& f) {
         f.search.invalid_report_reason = "no loss";
         f.was_killed = true;
         f.step_exit_code = 143;
     },
     Cause::failed, NextAction::stop},
    {"invalid hyperparameters end the trial, whatever its exit code",
     [](RunFacts& f) {
         f.search.is_invalid = true;
         f.step_exit_code = 1;
     },
     Cause::invalid_hyperparameters, NextAction::stop},
    {"a superseded run says nothing about the search",
     [](RunFacts& f) {
         f.search.end = "2 of 7 trials are better";
         f.search.is_invalid = true;
         f.higher_run_exists = true;
     },
     Cause::superseded, NextAction::left_to_slurm},
    {"the last restart is used up",
     [](RunFacts& f) {
         f.step_exit_code = 137;
         f.restarts = 2;
     },
     Cause::failed, NextAction::stop},
    {"a preemption in grace, acknowledged",
     [](RunFacts& f) {
         f.job->preempt_time = noon;
         f.preemption_acknowledged = true;
     },
     Cause::preempted, NextAction::requeue},
    {"acknowledged is never a failure, whatever the exit code",
     [](RunFacts& f) {
         f.preemption_acknowledged = true;
         f.step_exit_code = 1;
     },
     Cause::preempted, NextAction::requeue},
    {"in grace a trainer that ends by the notice's signal is requeued",
     [](RunFacts& f) {
         f.job->preempt_time = noon;
         f.step_exit_code = 143;
         f.ended_by_notice_signal = true;
     },
     Cause::preempted, NextAction::requeue},
    {"in grace every end is a preemption: torchrun ends with 1",
     [](RunFacts& f) {
         f.job->preempt_time = noon;
         f.step_exit_code = 1;
         f.gets_notices = true;
     },
     Cause::preempted, NextAction::requeue},
    {"in grace no restart is counted: a nested srun has killed its tasks",
     [](RunFacts& f) {
         f.job->preempt_time = noon;
         f.step_exit_code = 137;
         f.restarts = 2;
     },
     Cause::preempted, NextAction::requeue},
    {"a second end in grace that looks like a failure is a preemption too",
     [](RunFacts& f) {
         f.job->preempt_time = noon;
         f.step_exit_code = 1;
         f.uses_core_api = true;
         f.bad_ends_without_progress = 1;
     },
     Cause::preempted, NextAction::requeue},
    {"the third in a row that has saved nothing is a failure: saving may crash",
     [](RunFacts& f) {
         f.job->preempt_time = noon;
         f.step_exit_code = 1;
         f.uses_core_api = true;
         f.bad_ends_without_progress = 2;
     },
     Cause::failed, NextAction::requeue},
    {"and does not go on for ever",
     [](RunFacts& f) {
         f.job->preempt_time = noon;
         f.step_exit_code = 1;
         f.restarts = 2;
         f.uses_core_api = true;
         f.bad_ends_without_progress = 4;
     },
     Cause::failed, NextAction::stop},
    {"the third too if saving takes longer than the grace period",
     [](RunFacts& f) {
         f.job->preempt_time = noon;
         f.step_exit_code = 137;
         f.was_killed = f.is_progress_visible = true;
         f.bad_ends_without_progress = 2;
     },
     Cause::failed, NextAction::requeue},
    {"a third end that has saved something is a preemption",
     [](RunFacts& f) {
         f.job->preempt_time = noon;
         f.step_exit_code = 1;
         f.uses_core_api = f.has_progressed = true;
         f.bad_ends_without_progress = 2;
     },
     Cause::preempted, NextAction::requeue},
    {"a third end by TERM is a preemption, which may come before the first checkpoint",
     [](RunFacts& f) {
         f.job->preempt_time = noon;
         f.step_exit_code = 143;
         f.ended_by_notice_signal = f.uses_core_api = true;
         f.bad_ends_without_progress = 2;
     },
     Cause::preempted, NextAction::requeue},
    {"a third end is a preemption if the progress of the program can't be seen",
     [](RunFacts& f) {
         f.job->preempt_time = noon;
         f.step_exit_code = 1;
         f.bad_ends_without_progress = 2;
     },
     Cause::preempted, NextAction::requeue},
    {"a failure is one though Slurm has sent TERM to the other ranks, which the failure of one ends",
     [](RunFacts& f) {
         f.task_notice_received = f.uses_core_api = f.gets_notices = true;
         f.step_exit_code = 3;
     },
     Cause::failed, NextAction::restart_in_place},
    {"a program that Slurm's TERM ends was preempted, though Slurm does not say so",
     [](RunFacts& f) {
         f.task_notice_received = f.ended_by_notice_signal = true;
         f.step_exit_code = 143;
     },
     Cause::preempted, NextAction::requeue},
    {"a node that becomes silent after the notice is a preemption",
     [](RunFacts& f) {
         f.job->preempt_time = noon;
         f.was_killed = true;
         f.silent_host = "n1";
     },
     Cause::preempted, NextAction::requeue},
    {"the supervisor ends a trainer before the grace period is over",
     [](RunFacts& f) {
         f.job->preempt_time = noon;
         f.step_exit_code = 137;
         f.was_killed = true;
     },
     Cause::preempted, NextAction::requeue},
    {"a program that gets notices and ends with 0 in grace was preempted",
     [](RunFacts& f) {
         f.job->preempt_time = noon;
         f.gets_notices = true;
     },
     Cause::preempted, NextAction::requeue},
    {"the same after a notice that Slurm does not explain",
     [](RunFacts& f) {
         f.task_notice_received = true;
         f.gets_notices = true;
     },
     Cause::preempted, NextAction::requeue},
    {"a program that gets notices and ends with 0 without one has finished",
     [](RunFacts& f) { f.gets_notices = true; }, Cause::finished, NextAction::stop},
    {"a program that gets notices may say that it has really finished",
     [](RunFacts& f) {
         f.job->preempt_time = noon;
         f.gets_notices = true;
         f.says_done = true;
     },
     Cause::finished, NextAction::stop},
    {"a program that said so and is then ended by the notice has finished",
     [](RunFacts& f) {
         f.job->preempt_time = noon;
         f.gets_notices = f.ended_by_notice_signal = f.says_done = true;
         f.step_exit_code = 143;
     },
     Cause::finished, NextAction::stop},
    {"a program that said so while Slurm requeues its job has finished",
     [](RunFacts& f) {
         f.job->state = JobState::completing;
         f.job->end_time = {};
         f.job->restarts = 1;
         f.gets_notices = f.says_done = true;
     },
     Cause::finished, NextAction::stop},
    {"a program that said so and fails has failed",
     [](RunFacts& f) {
         f.says_done = true;
         f.step_exit_code = 1;
     },
     Cause::failed, NextAction::restart_in_place},
    {"a program requeues its own job after the notice",
     [](RunFacts& f) {
         f.job->state = JobState::completing;
         f.job->end_time = {};
         f.job->restarts = 1;
         f.notice_received = f.task_notice_received = f.gets_notices = true;
     },
     Cause::preempted, NextAction::left_to_slurm},
    {"a program requeues its own job before the time limit",
     [](RunFacts& f) {
         f.job->state = JobState::completing;
         f.job->end_time = {};
         f.job->restarts = 1;
         f.stop_reason = StopReason::time_limit;
         f.gets_notices = true;
     },
     Cause::time_limit, NextAction::left_to_slurm},
    {"an exit code that means preempted, after a notice",
     [](RunFacts& f) {
         f.job->preempt_time = noon;
         f.step_exit_code = 85;
         f.has_preempted_exit_code = true;
     },
     Cause::preempted, NextAction::requeue},
    {"the same code without a notice, with progress: it asks for another place in the queue",
     [](RunFacts& f) {
         f.step_exit_code = 85;
         f.has_preempted_exit_code = f.has_progressed = true;
         f.restarts = 2;
     },
     Cause::preempted, NextAction::requeue},
    {"the same code without a notice and without progress counts as a failure",
     [](RunFacts& f) {
         f.step_exit_code = 85;
         f.has_preempted_exit_code = true;
     },
     Cause::failed, NextAction::requeue},
    {"and does not go on for ever",
     [](RunFacts& f) {
         f.step_exit_code = 85;
         f.has_preempted_exit_code = true;
         f.restarts = 2;
     },
     Cause::failed, NextAction::stop},
    {"paused, and the program ends with 0 on the signal",
     [](RunFacts& f) {
         f.desired = DesiredState::pause;
         f.stop_reason = StopReason::user;
         f.gets_notices = true;
     },
     Cause::paused, NextAction::requeue_held},
    {"told before the time limit, and the program ends with 0 on the signal",
     [](RunFacts& f) {
         f.stop_reason = StopReason::time_limit;
         f.gets_notices = true;
     },
     Cause::time_limit, NextAction::requeue},
    {"every end after the request before the time limit is one by the time limit",
     [](RunFacts& f) {
         f.stop_reason = StopReason::time_limit;
         f.step_exit_code = 1;
         f.restarts = 2;
     },
     Cause::time_limit, NextAction::requeue},
    {"the program has asked for a requeue and ends with a code",
     [](RunFacts& f) {
         f.asks_for_requeue = true;
         f.step_exit_code = 1;
         f.restarts = 2;
     },
     Cause::preempted, NextAction::requeue},
    {"in grace a trainer that finishes without an acknowledgement has finished",
     [](RunFacts& f) { f.job->preempt_time = noon; }, Cause::finished, NextAction::stop},
    {"scancel",
     [](RunFacts& f) {
         f.job->state = JobState::completing;
         f.notice_received = true;
         f.step_exit_code = 143;
     },
     Cause::canceled, NextAction::stop},
    {"scancel with a trainer that saved and said so is still a cancel: nothing is resurrected",
     [](RunFacts& f) {
         f.job->state = JobState::completing;
         f.notice_received = true;
         f.preemption_acknowledged = true;
     },
     Cause::canceled, NextAction::stop},
    {"time limit",
     [](RunFacts& f) {
         f.job->state = JobState::completing;
         f.job->reason = "TimeLimit";
         f.notice_received = true;
     },
     Cause::time_limit, NextAction::stop},
    {"grace 0 with REQUEUE: Slurm has requeued already",
     [](RunFacts& f) {
         f.job->state = JobState::completing;
         f.job->end_time = {};
         f.job->restarts = 1;
         f.notice_received = true;
         f.step_exit_code = 143;
     },
     Cause::preempted, NextAction::left_to_slurm},
    {"Slurm has lost a node, and requeued the job: no preemption",
     [](RunFacts& f) {
         f.job->state = JobState::completing;
         f.job->end_time = {};
         f.job->restarts = 1;
         f.notice_received = true;
         f.step_exit_code = 1;
         f.lost_hosts = {"n4"};
     },
     Cause::node_failed, NextAction::left_to_slurm},
    {"the trainer saved its work before Slurm lost a node of the requeued job",
     [](RunFacts& f) {
         f.job->state = JobState::completing;
         f.job->end_time = {};
         f.job->restarts = 1;
         f.notice_received = true;
         f.preemption_acknowledged = true;
         f.lost_hosts = {"n4"};
     },
     Cause::preempted, NextAction::left_to_slurm},
    {"grace 0 with CANCEL: preempted, requeued by us",
     [](RunFacts& f) {
         f.job->state = JobState::completing;
         f.job->preempt_time = noon;
         f.notice_received = true;
     },
     Cause::preempted, NextAction::requeue},
    {"the user cancelled",
     [](RunFacts& f) {
         f.desired = DesiredState::cancel;
         f.preemption_acknowledged = true;
     },
     Cause::canceled, NextAction::stop},
    {"paused, and the trainer saved its work",
     [](RunFacts& f) {
         f.desired = DesiredState::pause;
         f.preemption_acknowledged = true;
     },
     Cause::paused, NextAction::requeue_held},
    {"paused, and killed since it took too long",
     [](RunFacts& f) {
         f.desired = DesiredState::pause;
         f.was_killed = true;
         f.step_exit_code = 137;
     },
     Cause::paused, NextAction::requeue_held},
    {"paused at the moment when it had finished", [](RunFacts& f) { f.desired = DesiredState::pause; },
     Cause::finished, NextAction::stop},
    {"paused, and wanted again before it had stopped",
     [](RunFacts& f) {
         f.stop_reason = StopReason::user;
         f.preemption_acknowledged = true;
     },
     Cause::preempted, NextAction::restart_in_place},
    {"paused before its step had started",
     [](RunFacts& f) {
         f.stop_reason = StopReason::user;
         f.desired = DesiredState::pause;
         f.step_exit_code = 143;
         f.ended_by_notice_signal = true;
         f.was_stopped_before_step = true;
     },
     Cause::paused, NextAction::requeue_held},
    {"paused before its step had started, and wanted again",
     [](RunFacts& f) {
         f.stop_reason = StopReason::user;
         f.step_exit_code = 143;
         f.ended_by_notice_signal = true;
         f.was_stopped_before_step = true;
     },
     Cause::preempted, NextAction::restart_in_place},
    {"saved before the time limit",
     [](RunFacts& f) {
         f.stop_reason = StopReason::time_limit;
         f.preemption_acknowledged = true;
     },
     Cause::time_limit, NextAction::requeue},
    {"asked before the time limit, and finished", [](RunFacts& f) { f.stop_reason = StopReason::time_limit; },
     Cause::finished, NextAction::stop},
    {"stopped for a neighbour's sake without having saved",
     [](RunFacts& f) {
         f.stop_reason = StopReason::other_trial;
         f.step_exit_code = 143;
         f.ended_by_notice_signal = true;
     },
     Cause::preempted, NextAction::requeue},
    {"killed", [](RunFacts& f) { f.desired = DesiredState::kill; }, Cause::canceled, NextAction::stop},
    {"a log policy allows no restart",
     [](RunFacts& f) {
         f.step_exit_code = 1;
         f.cancel_retries_policy = "CUDA OOM";
     },
     Cause::failed, NextAction::stop},
    {"the third failure in a row, if progress can't be seen",
     [](RunFacts& f) {
         f.step_exit_code = 1;
         f.restarts = 2;
         f.restarts_max = 9;
         f.failures_without_progress = 2;
     },
     Cause::failed, NextAction::restart_in_place},
    {"the third failure in a row that got no further",
     [](RunFacts& f) {
         f.step_exit_code = 1;
         f.restarts = 2;
         f.restarts_max = 9;
         f.is_progress_visible = true;
         f.failures_without_progress = 2;
     },
     Cause::failed, NextAction::stop},
    {"the third failure, but this run got further",
     [](RunFacts& f) {
         f.step_exit_code = 1;
         f.restarts = 2;
         f.restarts_max = 9;
         f.is_progress_visible = true;
         f.failures_without_progress = 2;
         f.has_progressed = true;
     },
     Cause::failed, NextAction::restart_in_place},
    {"a node that was silent is a failure, whatever srun says",
     [](RunFacts& f) {
         f.was_killed = true;
         f.silent_host = "n1";
     },
     Cause::failed, NextAction::restart_in_place},
    {"a node whose slurmstepd was killed is a failure, whatever srun says",
     [](RunFacts& f) {
         f.was_killed = f.is_slurmstepd_gone = true;
         f.silent_host = "n1";
     },
     Cause::failed, NextAction::restart_in_place},
    {"a run that hung counts against max_restarts, whatever srun says",
     [](RunFacts& f) {
         f.was_killed = true;
         f.hung_for = std::chrono::seconds(60);
     },
     Cause::hung, NextAction::restart_in_place},
    {"a run that hung after the last restart ends the trial",
     [](RunFacts& f) {
         f.was_killed = true;
         f.step_exit_code = 137;
         f.hung_for = std::chrono::seconds(60);
         f.restarts = f.restarts_max;
     },
     Cause::hung, NextAction::stop},
    {"a run that hung on a node that a log policy excludes",
     [](RunFacts& f) {
         f.was_killed = true;
         f.step_exit_code = 137;
         f.hung_for = std::chrono::seconds(60);
         f.bad_nodes = {{"n1"}, "the log policy 'ECC' excludes", false, true, true};
     },
     Cause::hung, NextAction::requeue},
    {"a run that hung and that the user has paused since",
     [](RunFacts& f) {
         f.was_killed = true;
         f.step_exit_code = 137;
         f.hung_for = std::chrono::seconds(60);
         f.desired = DesiredState::pause;
     },
     Cause::paused, NextAction::requeue_held},
    {"a lost step that shares its node blocks a lane until the job ends",
     [](RunFacts& f) {
         f.silent_host = "n1";
         f.shares_node = true;
     },
     Cause::failed, NextAction::requeue},
    {"a failure in the same way as before ends the trial",
     [](RunFacts& f) {
         f.step_exit_code = 1;
         f.restarts = 1;
         f.repeats_failure = f.has_default_max_restarts = true;
     },
     Cause::failed, NextAction::stop},
    {"a failure in the same way as before is repeated as often as the user has set",
     [](RunFacts& f) {
         f.step_exit_code = 1;
         f.restarts = 1;
         f.repeats_failure = true;
     },
     Cause::failed, NextAction::restart_in_place},
    {"a failure in the same way after progress is restarted",
     [](RunFacts& f) {
         f.step_exit_code = 1;
         f.repeats_failure = f.has_default_max_restarts = f.has_progressed = true;
     },
     Cause::failed, NextAction::restart_in_place},
    {"a failure in the same way because of a node is no failure of the trial",
     [](RunFacts& f) {
         f.step_exit_code = 1;
         f.repeats_failure = f.has_default_max_restarts = true;
         f.bad_nodes = {{"n1"}, "Slurm has lost", true, true, false};
     },
     Cause::node_failed, NextAction::restart_in_place},
    {"a line of slurm.setup that fails is not repeated on its node",
     [](RunFacts& f) {
         f.step_exit_code = 1;
         f.setup_failure = "on n1, line 1 of slurm.setup failed with exit code 1: false";
         f.bad_nodes = {{"n1"}, "slurm.setup fails on", false, false, true, false, true};
     },
     Cause::failed, NextAction::stop},
    {"a bad node, and one to spare",
     [](RunFacts& f) {
         f.step_exit_code = 1;
         f.bad_nodes = {{"n1"}, "the log policy 'ECC' excludes", true, true, true};
     },
     Cause::failed, NextAction::restart_in_place},
    {"a bad node, and another one elsewhere",
     [](RunFacts& f) {
         f.step_exit_code = 1;
         f.bad_nodes = {{"n1"}, "the log policy 'ECC' excludes", false, true, true};
     },
     Cause::failed, NextAction::requeue},
    {"a node that Slurm has lost counts as no failure of the trial",
     [](RunFacts& f) {
         f.step_exit_code = 1;
         f.restarts = 2;
         f.bad_nodes = {{"n1"}, "Slurm has lost", true, true, false};
     },
     Cause::node_failed, NextAction::restart_in_place},
    {"a node that may come back is waited for",
     [](RunFacts& f) {
         f.step_exit_code = 233;
         f.restarts = 2;
         f.bad_nodes = {{"n1"}, "nothing starts on", false, false, false, true};
         f.slurm_failures_in_a_row = 29;
     },
     Cause::node_failed, NextAction::requeue},
    {"a node that may come back is not waited for without end",
     [](RunFacts& f) {
         f.step_exit_code = 233;
         f.bad_nodes = {{"n1"}, "nothing starts on", false, false, false, true};
         f.slurm_failures_in_a_row = 30;
     },
     Cause::node_failed, NextAction::stop},
    {"a step that Slurm refuses to a trial that has begun before is no failure of the trainer",
     [](RunFacts& f) {
         f.step_exit_code = 1;
         f.restarts = 2;
         f.failures_without_progress = 2;
         f.srun_refusal = "Unable to create step for job 7";
         f.has_begun_before = true;
         f.slurm_failures_in_a_row = 29;
     },
     Cause::not_launched, NextAction::requeue},
    {"a step that Slurm refuses is not asked for without end",
     [](RunFacts& f) {
         f.step_exit_code = 1;
         f.srun_refusal = "Unable to create step for job 7";
         f.has_begun_before = true;
         f.slurm_failures_in_a_row = 30;
     },
     Cause::not_launched, NextAction::stop},
    {"a step that Slurm refuses to a trial that has never begun may be the user's mistake",
     [](RunFacts& f) {
         f.step_exit_code = 1;
         f.srun_refusal = "Unable to create step for job 7";
         f.restarts = 2;
     },
     Cause::failed, NextAction::stop},
    {"the job runs elsewhere: this incarnation was cut off",
     [](RunFacts& f) {
         f.job->batch_host = "n3";
         f.step_exit_code = 1;
     },
     Cause::superseded, NextAction::left_to_slurm},
    {"the job was restarted on the same node",
     [](RunFacts& f) {
         f.job->restarts = 1;
         f.preemption_acknowledged = true;
     },
     Cause::superseded, NextAction::left_to_slurm},
    {"a newer run exists",
     [](RunFacts& f) {
         f.higher_run_exists = true;
         f.desired = DesiredState::cancel;
     },
     Cause::superseded, NextAction::left_to_slurm},
    {"slurmctld is silent and the job was told to end",
     [](RunFacts& f) {
         f.job.reset();
         f.slurm_answered = false;
         f.notice_received = true;
         f.step_exit_code = 143;
     },
     Cause::interrupted, NextAction::left_to_slurm},
    {"slurmctld is silent and the trainer finished",
     [](RunFacts& f) {
         f.job.reset();
         f.slurm_answered = false;
     },
     Cause::finished, NextAction::stop},
};

}  // namespace run_end_test

BOOST_AUTO_TEST_SUITE(run_end_test)

BOOST_AUTO_TEST_CASE(each_run_end_has_its_cause_and_next_action) {
    for (auto const& row : table) {
        auto facts = quiet_end();
        row.change(facts);
        auto const outcome = classify_run_end(facts);
        BOOST_TEST(to_string(outcome.cause) == to_string(row.cause), row.what << ": " << outcome.message);
        BOOST_TEST(to_string(outcome.next_action) == to_string(row.next_action),
                   row.what << ": " << outcome.message);
        BOOST_TEST(!outcome.message.empty(), row.what);
        BOOST_TEST(outcome.message.find('\n') == std::string::npos, row.what);
    }
}

BOOST_AUTO_TEST_CASE(max_restarts_2_gives_three_runs) {
    int runs = 0;
    for (auto facts = quiet_end();; ++facts.restarts) {
        facts.step_exit_code = 1;
        ++runs;
        if (classify_run_end(facts).next_action != NextAction::restart_in_place) break;
    }
    BOOST_TEST(runs == 3);
}

BOOST_AUTO_TEST_SUITE_END()
