#include <algorithm>
#include <fmt/format.h>
#include <ostream>

#include "command.hpp"
#include "table.hpp"

namespace det::cli {
namespace {

using slurm::JobStatus;

bool has_nodes(JobStatus const& job) {
    return job.state == slurm::JobState::running || job.state == slurm::JobState::completing ||
           job.state == slurm::JobState::configuring || job.state == slurm::JobState::suspended;
}

/// The order in which Slurm serves them: those with nodes, then by priority, then by age.
bool is_before(JobStatus const& a, JobStatus const& b) {
    if (has_nodes(a) != has_nodes(b)) return has_nodes(a);
    if (a.priority != b.priority) return a.priority > b.priority;
    if (a.submit_time != b.submit_time) return a.submit_time < b.submit_time;
    return a.ref < b.ref;
}

int slots_of(JobStatus const& job) {
    return job.nodes * std::max(1, slurm::parse_gpu_count(job.tres_per_node));
}

std::string_view type_of(JobStatus const& job) {
    return job.comment.starts_with("det:") ? "TYPE_EXPERIMENT" : "TYPE_SLURM";
}

class JobList final : public Command {
public:
    std::vector<Option> options() override {
        return {{"-p,--resource-pool", &pool_, "only the jobs of this pool"}};
    }

    Outcome run(Session& session) override {
        auto jobs = session.slurm.queue({});
        if (!jobs) return Diagnostics(std::move(jobs).error());
        Rows rows;  // jobs are large, and there may be many: only pointers are sorted
        for (auto const& job : *jobs) {
            if (!pool_ || job.partition == *pool_) rows.push_back(&job);
        }
        std::sort(rows.begin(), rows.end(), [](auto const* a, auto const* b) { return is_before(*a, *b); });
        if (session.wants_json()) {
            session.answer(as_json(rows));
        } else {
            session.out << as_table(rows);
        }
        return ExitCode::done;
    }

private:
    using Rows = std::vector<JobStatus const*>;

    static Json as_json(Rows const& rows) {
        auto answer = Json::array();
        for (auto const* row : rows) {
            auto const& job = *row;
            answer.push_back(
                {{"id", slurm::to_string(job.ref)},
                 {"type", type_of(job)},
                 {"name", job.name},
                 {"priority", job.priority},
                 {"submitted", job.submit_time ? Json(format_utc(*job.submit_time)) : Json(nullptr)},
                 {"slots_acquired", has_nodes(job) ? slots_of(job) : 0},
                 {"slots_needed", slots_of(job)},
                 {"state", has_nodes(job) ? "STATE_SCHEDULED" : "STATE_QUEUED"},
                 {"slurm_state", job.state_text},
                 {"reason", job.reason},
                 {"resource_pool", job.partition},
                 {"user", job.user},
                 {"comment", job.comment}});
        }
        return answer;
    }

    static std::string as_table(Rows const& rows) {
        Table table({"#", "ID", "Type", "Job Name", "Priority", "Submitted", "Slots (acquired/needed)",
                     "Status", "User"});
        for (std::size_t i = 0; i < rows.size(); ++i) {
            auto const& job = *rows[i];
            table.add({std::to_string(i), slurm::to_string(job.ref), std::string(type_of(job)), job.name,
                       std::to_string(job.priority), short_time(job.submit_time),
                       fmt::format("{}/{}", has_nodes(job) ? slots_of(job) : 0, slots_of(job)),
                       has_nodes(job) ? "STATE_SCHEDULED" : "STATE_QUEUED", job.user});
        }
        return table.render();
    }

    std::optional<std::string> pool_;
};

}  // namespace

std::unique_ptr<Command> make_job_list() { return std::make_unique<JobList>(); }

}  // namespace det::cli
