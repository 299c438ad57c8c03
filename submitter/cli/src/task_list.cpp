#include <algorithm>
#include <fmt/format.h>
#include <ostream>

#include "command.hpp"
#include "table.hpp"

namespace det::cli {
namespace {

using slurm::JobStatus;

bool has_nodes(JobStatus const& job) {
    constexpr slurm::JobState states[] = {slurm::JobState::configuring, slurm::JobState::running,
                                          slurm::JobState::completing, slurm::JobState::suspended};
    return std::find(std::begin(states), std::end(states), job.state) != std::end(states);
}

/// GPUs, or CPUs where the job has none.
int slots_of(JobStatus const& job) {
    auto const gpus = slurm::parse_gpu_count(job.tres_per_node);
    return gpus > 0 ? job.nodes * gpus : job.cpus;
}

/// "det:1a2b3c4d/7": the experiment, where the job is one of det-submit's.
std::string experiment_of(JobStatus const& job) {
    auto const slash = job.comment.rfind('/');
    if (!job.comment.starts_with("det:") || slash == std::string::npos) return "";
    return job.comment.substr(slash + 1);
}

class TaskList final : public Command {
public:
    std::vector<Option> options() override {
        return {{"-p,--resource-pool", &pool_, "only those of this pool"}};
    }

    Outcome run(Session& session) override {
        auto jobs = session.slurm.queue({});
        if (!jobs) return Diagnostics(std::move(jobs).error());
        std::erase_if(
            *jobs, [this](auto const& job) { return !has_nodes(job) || (pool_ && job.partition != *pool_); });
        std::sort(jobs->begin(), jobs->end(), [](auto const& a, auto const& b) { return a.ref < b.ref; });
        if (session.wants_json()) {
            session.answer(as_json(*jobs));
        } else {
            session.out << as_table(*jobs);
        }
        return ExitCode::done;
    }

private:
    static Json as_json(std::vector<JobStatus> const& jobs) {
        auto answer = Json::array();
        for (auto const& job : jobs) {
            answer.push_back(
                {{"job_id", slurm::to_string(job.ref)},
                 {"experiment", experiment_of(job)},
                 {"user", job.user},
                 {"name", job.name},
                 {"resource_pool", job.partition},
                 {"nodes", job.node_list},
                 {"node_count", job.nodes},
                 {"slots", slots_of(job)},
                 {"slurm_state", job.state_text},
                 {"started", job.start_time ? Json(format_utc(*job.start_time)) : Json(nullptr)}});
        }
        return answer;
    }

    static std::string as_table(std::vector<JobStatus> const& jobs) {
        Table table({"Job", "Experiment", "User", "Name", "Resource Pool", "Nodes", "Slots", "Started"});
        for (auto const& job : jobs) {
            table.add({slurm::to_string(job.ref), experiment_of(job), job.user, job.name, job.partition,
                       job.node_list, std::to_string(slots_of(job)), short_time(job.start_time)});
        }
        return table.render();
    }

    std::optional<std::string> pool_;
};

}  // namespace

std::unique_ptr<Command> make_task_list() { return std::make_unique<TaskList>(); }

}  // namespace det::cli
