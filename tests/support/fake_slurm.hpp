#pragma once
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/slurm/client.hpp>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

/// A SlurmClient that returns the values that a test sets, and records all calls.
class FakeSlurm final : public det::slurm::SlurmClient {
public:
    std::optional<det::slurm::JobStatus> job;
    std::vector<det::slurm::Partition> partition_list;
    std::vector<det::slurm::Node> node_list;
    det::slurm::ClusterConfig config;
    det::slurm::Accounting accounting;
    std::vector<det::slurm::FairShare> fair_shares;
    std::vector<det::slurm::JobExecution> executions;
    std::vector<det::slurm::JobStatus> other_jobs;           // listed after `job`
    std::map<std::uint32_t, det::slurm::JobScript> scripts;  // by job
    std::vector<std::string> calls;
    std::vector<det::slurm::Submission> submissions;  // including those of test_submission()
    std::chrono::seconds start_delay{0};              // of the last start_not_before()
    std::uint32_t next_job = 4711;
    std::optional<det::Error> submit_error;
    std::string test_answer;                       // of test_submission()
    std::optional<std::uint32_t> submit_jobs_max;  // tasks of an array that the user may submit
    bool is_down = false;
    bool refuses_requeue = false;
    std::set<std::string> refused;                    // first words of the calls that fail with slurm_refused
    std::function<void(std::string const&)> on_call;  // runs before the call is answered

    det::Result<std::string> test_submission(det::slurm::Submission const& submission) override {
        submissions.push_back(submission);
        if (submit_jobs_max && last_index_of(submission.script) >= *submit_jobs_max) {
            calls.push_back("test");
            return det::Error{det::codes::slurm_refused, "Slurm refused 'sbatch'"}.noting(
                "sbatch said: sbatch: error: Batch job submission failed: Job violates accounting/QOS policy "
                "(job submit limit, user's size and/or time limits)");
        }
        DET_TRY(answer<det::Ok>("test", {}));
        return test_answer;
    }
    det::Result<std::uint32_t> submit(det::slurm::Submission const& submission) override {
        submissions.push_back(submission);
        if (submit_error) return *submit_error;
        for (auto const& option : submission.options) {
            if (option.starts_with("--comment=")) comments_[next_job] = option.substr(10);
        }
        return answer<std::uint32_t>("submit", next_job++);
    }
    det::Status hold(det::slurm::JobRef const& ref) override {
        return answer<det::Ok>("hold " + to_string(ref), {});
    }
    det::Status release(det::slurm::JobRef const& ref) override {
        return answer<det::Ok>("release " + to_string(ref), {});
    }
    det::Status update_job(det::slurm::JobRef const& ref, det::slurm::JobChange const& change) override {
        auto call = "change " + to_string(ref);
        if (change.nice) call += " nice=" + std::to_string(*change.nice);
        if (change.priority) call += " priority=" + std::to_string(*change.priority);
        if (change.excluded_nodes) call += " exclude=" + *change.excluded_nodes;
        if (change.time_limit) call += " time=" + *change.time_limit;
        if (change.partition) call += " partition=" + *change.partition;
        if (change.running_tasks_max) call += " running=" + std::to_string(*change.running_tasks_max);
        if (change.comment) call += " comment=" + *change.comment;
        if (change.is_requeueable) call += *change.is_requeueable ? " requeue=1" : " requeue=0";
        return answer<det::Ok>(call, {});
    }
    det::Status move_to_top(std::vector<det::slurm::JobRef> const& refs) override {
        std::string call = "top";
        for (auto const& ref : refs) call += " " + to_string(ref);
        return answer<det::Ok>(call, {});
    }
    det::Status signal_batch(det::slurm::JobRef const& ref, std::string_view signal) override {
        return answer<det::Ok>("signal " + to_string(ref) + " " + std::string(signal), {});
    }
    det::Status cancel(det::slurm::JobRef const& ref) override {
        return answer<det::Ok>("cancel " + to_string(ref), {});
    }
    det::Status cancel_pending_tasks(det::slurm::JobRef const& ref) override {
        return answer<det::Ok>("cancel-waiting " + to_string(ref), {});
    }
    det::Status cancel_step(det::slurm::JobRef const& ref, std::string_view name) override {
        return answer<det::Ok>("cancel-step " + to_string(ref) + " " + std::string(name), {});
    }
    det::Result<det::slurm::JobScript> query_script(det::slurm::JobRef const& ref) override {
        return answer<det::slurm::JobScript>("script " + to_string(ref), scripts[ref.job]);
    }
    det::Status cancel_steps(det::slurm::JobRef const& ref) override {
        return answer<det::Ok>("cancel-steps " + to_string(ref), {});
    }
    det::Status requeue_held(det::slurm::JobRef const& ref) override {
        return answer<det::Ok>("requeue-held " + to_string(ref), {});
    }
    det::Result<std::vector<det::slurm::JobStatus>> query_queue(det::slurm::QueueFilter const&) override {
        // on_call runs first, so that a change that it makes is visible in the result.
        DET_TRY(answer<det::Ok>("queue", {}));
        auto jobs = other_jobs;
        if (job) jobs.insert(jobs.begin(), *job);
        for (auto& each : jobs) {
            if (each.comment.empty() && comments_.contains(each.ref.job))
                each.comment = comments_[each.ref.job];
        }
        return jobs;
    }
    det::Result<std::optional<det::slurm::JobStatus>> query_job(det::slurm::JobRef const& ref) override {
        return answer<std::optional<det::slurm::JobStatus>>("find " + to_string(ref), job);
    }
    det::Result<std::uint32_t> query_running_job_id(det::slurm::JobRef const& ref) override {
        return answer<std::uint32_t>("number " + to_string(ref), ref.job + ref.task.value_or(0));
    }
    det::Result<std::vector<det::slurm::Partition>> query_partitions() override {
        return answer<std::vector<det::slurm::Partition>>("partitions", partition_list);
    }
    det::Result<std::vector<det::slurm::Node>> query_nodes() override {
        return answer<std::vector<det::slurm::Node>>("nodes", node_list);
    }
    det::Result<det::slurm::ClusterConfig> query_cluster_config() override {
        return answer<det::slurm::ClusterConfig>("config", config);
    }
    det::Result<det::slurm::Accounting> query_accounting(std::string const&, std::string const&) override {
        return answer<det::slurm::Accounting>("accounting", accounting);
    }
    det::Result<std::vector<det::slurm::FairShare>> query_fair_shares(std::string const&) override {
        return answer<std::vector<det::slurm::FairShare>>("fair shares", fair_shares);
    }
    det::Result<std::vector<det::slurm::JobExecution>> query_executions(
        std::vector<std::uint32_t> const&) override {
        return answer<std::vector<det::slurm::JobExecution>>("executions", executions);
    }
    det::Status requeue(det::slurm::JobRef const& ref, RequeueScope scope) override {
        if (refuses_requeue) return det::Error{det::codes::slurm_refused, "Slurm refused 'scontrol requeue'"};
        auto const* verb = scope == RequeueScope::incomplete ? "requeue-incomplete " : "requeue ";
        return answer<det::Ok>(verb + to_string(ref), {});
    }
    det::Status start_not_before(det::slurm::JobRef const& ref, std::chrono::seconds delay) override {
        start_delay = delay;
        return answer<det::Ok>("start " + to_string(ref), {});
    }

private:
    std::map<std::uint32_t, std::string> comments_;  // of submitted jobs

    /// The last index of the array of a script: 15 in "#SBATCH --array=0-15%4".
    static std::uint32_t last_index_of(std::filesystem::path const& script) {
        auto const text = det::read_file(script).value_or("");
        constexpr std::string_view option = "--array=0-";
        auto const found = text.find(option);
        if (found == std::string::npos) return 0;
        auto const number = text.substr(found + option.size());
        return det::parse_integer<std::uint32_t>(number.substr(0, number.find_first_of("%\n"))).value_or(0);
    }

    template <class T>
    det::Result<T> answer(std::string call, T value) {
        calls.push_back(call);
        if (on_call) on_call(call);
        if (is_down) return det::Error{det::codes::slurm_unreachable, "no answer"};
        if (refused.contains(call.substr(0, call.find(' ')))) {
            return det::Error{det::codes::slurm_refused, "Slurm refused '" + call + "'"};
        }
        return value;
    }
};
