#include <det/experiment/query_all_jobs.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/json_or_null.hpp>
#include <det/queue/order.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <ostream>

#include "command.hpp"
#include "output/table.hpp"
#include "resource_pool/pool_view.hpp"

namespace det::cli {
namespace {

/// A job that has nodes, and its experiment if the job belongs to an experiment of this user.
struct Row {
    slurm::JobStatus const& job;
    std::optional<std::uint32_t> experiment;
    int slots;
};

class TaskList final : public Command {
public:
    std::vector<Option> options() override {
        return {{"-p,--resource-pool", &pool_, "only those of this pool"},
                {"--csv", &csv_, "print comma-separated values"}};
    }

    Outcome run(Session& session) override {
        DET_TRY_ASSIGN(auto snapshot,
                       experiment::query_all_jobs(session, experiment::PartitionsNeed::where_they_matter));
        auto const rows = select(snapshot, experiment::experiment_job_owner(session));
        if (rows.empty() && pool_) DET_TRY(require_pool_or_partition(*pool_, session));
        if (session.wants_json()) {
            session.answer(as_json(rows));
        } else {
            auto const table = as_table(rows, answer_style_of(session, csv_));
            if (csv_)
                session.out << table.render_csv();
            else
                print_table(session, table);
        }
        return ExitCode::done;
    }

private:
    std::vector<Row> select(experiment::JobsSnapshot const& snapshot,
                            queue::ExperimentJobOwner const& owner) const {
        std::vector<Row> rows;
        for (auto const& job : snapshot.queue.jobs) {
            if (!queue::has_nodes(job) || (pool_ && job.partition != *pool_)) continue;
            rows.push_back({job, queue::experiment_of(job, owner), experiment::slots_of(job, snapshot.site)});
        }
        return rows;
    }

    static Json as_json(std::vector<Row> const& rows) {
        auto answer = Json::array();
        for (auto const& [job, experiment, slots] : rows) {
            answer.push_back({{"job_id", slurm::to_string(job.ref)},
                              {"experiment", json_or_null(experiment)},
                              {"user", job.user},
                              {"name", job.name},
                              {"resource_pool", job.partition},
                              {"nodes", job.node_list},
                              {"node_count", job.nodes},
                              {"slots", slots},
                              {"slurm_state", job.state_text},
                              {"started", json_or_null(job.start_time)}});
        }
        return answer;
    }

    static Table as_table(std::vector<Row> const& rows, AnswerStyle const& style) {
        Table table({"Job", "Experiment", "User", "Name", "Resource Pool", "Nodes", "Slots", "Started"},
                    {"User", "Started", "Nodes", "Resource Pool"});
        for (auto const& [job, experiment, slots] : rows) {
            table.add({slurm::to_string(job.ref), experiment ? std::to_string(*experiment) : "", job.user,
                       job.name, job.partition, job.node_list, std::to_string(slots),
                       style.time(job.start_time)});
        }
        return table;
    }

    std::optional<std::string> pool_;
    bool csv_ = false;
};

}  // namespace

std::unique_ptr<Command> make_task_list() { return std::make_unique<TaskList>(); }

}  // namespace det::cli
