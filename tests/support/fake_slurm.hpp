#pragma once
#include <det/slurm/client.hpp>

#include <functional>
#include <set>
#include <string>
#include <vector>

/// A Slurm that shows what it is told to show and remembers what it was asked to do.
class FakeSlurm final : public det::slurm::SlurmClient {
public:
    std::optional<det::slurm::JobStatus> job;
    std::vector<det::slurm::Partition> partition_list;
    std::vector<det::slurm::JobStatus> other_jobs;  // shown behind `job`
    std::vector<std::string> calls;
    std::vector<det::slurm::Submission> submissions;  // tested ones too
    bool is_down = false;
    bool refuses_requeue = false;
    std::set<std::string> refused;                    // calls by their first word
    std::function<void(std::string const&)> on_call;  // before it is answered

    det::Result<std::string> test_submission(det::slurm::Submission const& submission) override {
        submissions.push_back(submission);
        return answer<std::string>("test", "");
    }
    det::Result<std::uint32_t> submit(det::slurm::Submission const& submission) override {
        submissions.push_back(submission);
        return answer<std::uint32_t>("submit", 4711);
    }
    det::Status release(std::uint32_t id) override {
        return answer<det::Ok>("release " + std::to_string(id), {});
    }
    det::Status cancel(det::slurm::JobRef const& ref) override {
        return answer<det::Ok>("cancel " + to_string(ref), {});
    }
    det::Result<std::vector<det::slurm::JobStatus>> queue(det::slurm::QueueFilter const&) override {
        // What a test does when it is asked shows already.
        DET_TRY(answer<det::Ok>("queue", {}));
        auto jobs = other_jobs;
        if (job) jobs.insert(jobs.begin(), *job);
        return jobs;
    }
    det::Result<std::optional<det::slurm::JobStatus>> find_job(det::slurm::JobRef const& ref) override {
        return answer<std::optional<det::slurm::JobStatus>>("find " + to_string(ref), job);
    }
    det::Result<std::vector<det::slurm::Partition>> partitions() override {
        return answer<std::vector<det::slurm::Partition>>("partitions", partition_list);
    }
    det::Status requeue(det::slurm::JobRef const& ref, RequeueScope scope) override {
        if (refuses_requeue) return det::Error{det::codes::slurm_refused, "Slurm refused 'scontrol requeue'"};
        auto const* verb = scope == RequeueScope::incomplete ? "requeue-incomplete " : "requeue ";
        return answer<det::Ok>(verb + to_string(ref), {});
    }
    det::Status start_not_before(det::slurm::JobRef const& ref, std::chrono::seconds) override {
        return answer<det::Ok>("start " + to_string(ref), {});
    }

private:
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
