#include <det/experiment/cluster_facts.hpp>
#include <det/experiment/query_all_jobs.hpp>
#include <det/protocol/json.hpp>
#include <det/queue/explain_reason.hpp>
#include <det/queue/job_level.hpp>
#include <det/queue/start_estimate.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <ostream>

#include "command.hpp"
#include "output/table.hpp"
#include "output/yaml_text.hpp"

namespace det::cli {
namespace {

using slurm::JobStatus;

/// A job, its position among the selected jobs in scheduling order (from 0), its slots, and when it starts.
struct Row {
    std::size_t place;
    JobStatus const* job;  // a pointer, because a JobStatus is large and there may be many jobs
    int slots;
    queue::StartEstimate start;  // empty for a job that has nodes
};

class JobList final : public Command {
public:
    std::vector<Option> options() override {
        return {{"-p,--resource-pool", &pool_, "only the jobs of this pool"},
                {"-u,--user", &user_, "only the jobs of this user"},
                {"--limit", &limit_, "so many rows at most"},
                {"--offset", &offset_, "leave out so many rows before them"},
                {"--pages", &pages_, "1 or all: all means no limit", Need::optional, {"1", "all"}},
                {"--reverse", &reverse_, "the last one first"},
                {"--csv", &csv_, "print comma-separated values"},
                {"--yaml", &yaml_, "print YAML"},
                {"--table", &table_, "print a table; the default"}};
    }

    Outcome run(Session& session) override {
        if (int(session.wants_json()) + int(csv_) + int(yaml_) + int(table_) > 1)
            return Error{codes::usage, "--json, --yaml, --csv and --table exclude each other",
                         "give one of them"};
        DET_TRY_ASSIGN(auto snapshot,
                       experiment::query_all_jobs(session, experiment::PartitionsNeed::where_they_matter));
        auto const rows = select(snapshot, session.clock.now());
        auto const kind = find_priority_kind(session);
        if (session.wants_json()) {
            session.answer(as_json(rows, kind, experiment::experiment_job_owner(session)));
        } else if (yaml_) {
            session.out << to_yaml(as_json(rows, kind, experiment::experiment_job_owner(session)));
        } else {
            auto const table = as_table(rows, kind);
            if (csv_)
                session.out << table.render_csv();
            else
                print_table(session, table);
            explain_unknown_starts(rows, session);
        }
        return ExitCode::done;
    }

private:
    /// How Slurm computes priorities. If Slurm does not answer, `multifactor`, which most sites use.
    static queue::PriorityKind find_priority_kind(Session& session) {
        auto const config = experiment::query_cluster_config(session, experiment::Freshness::recent);
        bool const is_basic = config && config->find("PriorityType").value_or("").ends_with("basic");
        return is_basic ? queue::PriorityKind::basic : queue::PriorityKind::multifactor;
    }

    static void explain_unknown_starts(std::vector<Row> const& rows, Session& session) {
        auto const unknown =
            std::ranges::find_if(rows, [](auto const& row) { return !row.start.unknown_because.empty(); });
        if (unknown == rows.end()) return;
        session.say(
            fmt::format("the expected start of a job is unknown if {}", unknown->start.unknown_because));
    }

    std::vector<Row> select(experiment::JobsSnapshot const& snapshot, UtcTime now) const {
        queue::StartEstimates const estimates(snapshot.queue.jobs, now);
        std::vector<Row> rows;
        for (std::size_t i = 0; i < snapshot.queue.jobs.size(); ++i) {
            auto const& job = snapshot.queue.jobs[i];
            if (pool_ && job.partition != *pool_) continue;
            if (user_ && job.user != *user_) continue;
            auto start = queue::has_nodes(job) ? queue::StartEstimate{} : estimates.evaluate(job.start_time);
            rows.push_back({rows.size(), &job, experiment::slots_of(job, snapshot.site), std::move(start)});
        }
        if (reverse_) std::reverse(rows.begin(), rows.end());
        rows.erase(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(
                                                    std::min<std::size_t>(offset_.value_or(0), rows.size())));
        bool const is_limited = limit_ && pages_ != "all";
        if (is_limited && rows.size() > *limit_) rows.erase(rows.begin() + *limit_, rows.end());
        return rows;
    }

    static Json time_or_null(std::optional<UtcTime> const& time) {
        return time ? Json(format_utc(*time)) : Json(nullptr);
    }

    static Json as_json(std::vector<Row> const& rows, queue::PriorityKind kind,
                        queue::ExperimentJobOwner const& owner) {
        auto answer = Json::array();
        for (auto const& [place, shown, slots, start] : rows) {
            auto const& job = *shown;
            bool const has_nodes = queue::has_nodes(job);
            auto const own = queue::experiment_of(job, owner);
            answer.push_back({{"id", slurm::to_string(job.ref)},
                              {"type", experiment::determined_type_of(job)},
                              {"name", job.name},
                              {"priority", job.priority},
                              {"determined_priority", queue::level_of(job, kind)},
                              {"nice", job.nice},
                              {"submitted", time_or_null(job.submit_time)},
                              {"started", has_nodes ? time_or_null(job.start_time) : Json(nullptr)},
                              {"start_estimate", time_or_null(start.time)},
                              {"start_unknown_because",
                               start.unknown_because.empty() ? Json(nullptr) : Json(start.unknown_because)},
                              {"slots_acquired", has_nodes ? slots : 0},
                              {"slots_needed", slots},
                              {"state", experiment::determined_status_of(job)},
                              {"slurm_state", job.state_text},
                              {"reason", job.reason},
                              {"reason_in_words", has_nodes ? "" : queue::explain_reason(job.reason)},
                              {"resource_pool", job.partition},
                              {"user", job.user},
                              {"experiment", own ? Json(*own) : Json(nullptr)},
                              {"comment", job.comment}});
        }
        return answer;
    }

    /// "experiment" for TYPE_EXPERIMENT.
    static std::string type_in_words(slurm::JobStatus const& job) {
        constexpr std::string_view prefix = "TYPE_";
        auto const type = experiment::determined_type_of(job);
        return to_lower(type.starts_with(prefix) ? type.substr(prefix.size()) : type);
    }

    /// With priority/basic Slurm's priorities are numbers near 2^32 that count down with every job.
    static Table as_table(std::vector<Row> const& rows, queue::PriorityKind kind) {
        bool const is_basic = kind == queue::PriorityKind::basic;
        Table table({"#", "ID", "Type", "Job Name", "Priority", "Slurm Priority", "Submitted",
                     "Slots (acquired/needed)", "Status", "User", "Expected Start", "Waits Because"},
                    {"Slurm Priority", "Submitted", "Type", "Priority", "User", "Slots (acquired/needed)"});
        for (auto const& [place, shown, slots, start] : rows) {
            auto const& job = *shown;
            bool const has_nodes = queue::has_nodes(job);
            table.add({queue::is_held(job) ? "N/A" : std::to_string(place), slurm::to_string(job.ref),
                       type_in_words(job), job.name, std::to_string(queue::level_of(job, kind)),
                       is_basic ? "" : std::to_string(job.priority),
                       short_time(job.submit_time), fmt::format("{}/{}", has_nodes ? slots : 0, slots),
                       std::string(experiment::determined_status_of(job)), job.user,
                       start.unknown_because.empty() ? short_time(start.time) : "unknown",
                       has_nodes ? "" : queue::explain_reason(job.reason)});
        }
        return table;
    }

    std::optional<std::string> pool_;
    std::optional<std::string> user_;
    std::optional<std::uint32_t> limit_, offset_;
    std::optional<std::string> pages_;
    bool reverse_ = false, csv_ = false, yaml_ = false, table_ = false;
};

}  // namespace

std::unique_ptr<Command> make_job_list() { return std::make_unique<JobList>(); }

}  // namespace det::cli
