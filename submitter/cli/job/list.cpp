#include <det/experiment/query_all_jobs.hpp>
#include <det/experiment/root_directory.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/json_or_null.hpp>
#include <det/queue/explain_reason.hpp>
#include <det/queue/fold_jobs.hpp>
#include <det/queue/job_level.hpp>
#include <det/queue/start_estimate.hpp>
#include <det/tracker/history/attributes.hpp>
#include <det/tracker/history/journal_history.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <ostream>

#include "command.hpp"
#include "output/table.hpp"
#include "output/yaml_text.hpp"
#include "resource_pool/pool_view.hpp"

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

/// The jobs of which the table shows one row, in scheduling order. Has at least one job.
using RowGroup = std::vector<Row const*>;

std::vector<RowGroup> group_rows(std::vector<Row> const& rows, bool is_folded) {
    std::vector<RowGroup> groups;
    if (!is_folded) {
        for (auto const& row : rows) groups.push_back({&row});
        return groups;
    }
    std::vector<JobStatus const*> jobs;
    for (auto const& row : rows) jobs.push_back(row.job);
    for (auto const& members : queue::fold_jobs(jobs)) {
        auto& group = groups.emplace_back();
        for (auto const member : members) group.push_back(&rows[member]);
    }
    return groups;
}

/// "experiment" for TYPE_EXPERIMENT.
std::string type_in_words(JobStatus const& job) {
    constexpr std::string_view prefix = "TYPE_";
    auto const type = experiment::determined_type_of(job);
    return to_lower(type.starts_with(prefix) ? type.substr(prefix.size()) : type);
}

std::string jobs_text(RowGroup const& group) {
    std::vector<slurm::JobRef> refs;
    for (auto const* row : group) refs.push_back(row->job->ref);
    return queue::compress_job_refs(std::move(refs));
}

/// The name of the first job; with "..." where others have other names.
std::string name_text(RowGroup const& group) {
    auto const& name = group.front()->job->name;
    bool const is_same = std::ranges::all_of(group, [&](auto const* row) { return row->job->name == name; });
    return is_same ? name : name + " ...";
}

/// The level of the jobs on Determined's scale; "42-50" if they differ.
std::string level_text(RowGroup const& group, queue::PriorityKind kind) {
    auto const level = [&](auto const* row) { return queue::level_of(*row->job, kind); };
    auto const [least, most] = std::ranges::minmax(group, {}, level);
    return level(least) == level(most) ? std::to_string(level(least))
                                       : fmt::format("{}-{}", level(least), level(most));
}

/// Slurm's priority of the first job, if Slurm computed it from age, size and shares; else nothing, because
/// it is a number near 2^32 that says no more than the level and the place.
std::string slurm_priority_text(RowGroup const& group, queue::PriorityKind kind) {
    auto const priority = group.front()->job->priority;
    bool const is_computed = kind != queue::PriorityKind::basic &&
                             priority < std::int64_t{queue::priority_of_level(queue::default_level - 1)};
    return is_computed ? std::to_string(priority) : "";
}

std::string slots_text_of_group(RowGroup const& group) {
    std::int64_t acquired = 0, needed = 0;
    for (auto const* row : group) {
        needed += row->slots;
        if (queue::has_nodes(*row->job)) acquired += row->slots;
    }
    return fmt::format("{}/{}", acquired, needed);
}

std::string state_in_words(JobStatus const& job) {
    if (queue::has_nodes(job)) return to_lower(job.state_text);
    return queue::is_held(job) ? "held" : "waiting";
}

/// "running"; of several jobs "2 running, 38 waiting".
std::string states_text(RowGroup const& group) {
    if (group.size() == 1) return state_in_words(*group.front()->job);
    std::vector<std::pair<std::string, std::size_t>> counts;
    for (auto const* row : group) {
        auto state = state_in_words(*row->job);
        auto const found = std::ranges::find(counts, state, &std::pair<std::string, std::size_t>::first);
        if (found == counts.end())
            counts.emplace_back(std::move(state), 1);
        else
            ++found->second;
    }
    std::vector<std::string> parts;
    for (auto const& [state, count] : counts) parts.push_back(fmt::format("{} {}", count, state));
    return join(parts, ", ");
}

/// When the first of the jobs that wait starts, as far as Slurm can tell.
std::string expected_start_text(RowGroup const& group, TimeText const& time_text) {
    std::optional<UtcTime> first;
    for (auto const* row : group) {
        auto const& time = row->start.time;
        if (time && row->start.unknown_because.empty() && (!first || *time < *first)) first = time;
    }
    if (first) return time_text(first);
    bool const is_unknown =
        std::ranges::any_of(group, [](auto const* row) { return !row->start.unknown_because.empty(); });
    return is_unknown ? "unknown" : "";
}

/// The reasons of the jobs that wait, each once.
std::string reasons_text(RowGroup const& group) {
    std::vector<std::string> reasons;
    for (auto const* row : group) {
        if (queue::has_nodes(*row->job)) continue;
        auto reason = queue::explain_reason(row->job->reason);
        if (!reason.empty() && std::ranges::find(reasons, reason) == reasons.end())
            reasons.push_back(std::move(reason));
    }
    return join(reasons, "; ");
}

/// "7 digits": numbers of this user's experiments with their names, each read once.
class ExperimentTexts {
public:
    explicit ExperimentTexts(Session const& session) : owner_(experiment::experiment_job_owner(session)) {
        if (auto const root = experiment::find_root(session.environment))
            history_ = session.open_journals(*root);
    }

    /// Only the number if the name can't be read; empty for a job that is of no experiment of this user.
    std::string const& of(JobStatus const& job) {
        static std::string const none;
        auto const number = queue::experiment_of(job, owner_);
        if (!number || !history_) return none;
        auto const [found, is_new] = texts_.try_emplace(*number, std::to_string(*number));
        if (!is_new) return found->second;
        auto const record = history_->load_experiment_without_trials(ExperimentId{*number});
        if (record) found->second += ' ' + tracker::history::attributes_of(*record).name;
        return found->second;
    }

private:
    queue::ExperimentJobOwner owner_;
    std::shared_ptr<tracker::history::JournalHistory> history_;  // empty: there is no root
    std::map<std::uint32_t, std::string> texts_;
};

class JobList final : public Command {
public:
    std::vector<Option> options() override {
        return {{"-p,--resource-pool", &pool_, "only the jobs of this pool"},
                {"-u,--user", &user_, "only the jobs of this user"},
                {"-r,--array", &array_, "a row for each job: no tasks and trials in one row"},
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
        if (rows.empty() && pool_) DET_TRY(require_pool_or_partition(*pool_, session));
        bool const has_row_for_each_job = session.wants_json() || yaml_ || csv_ || array_;
        auto groups = group_rows(rows, !has_row_for_each_job);
        choose_page(groups);
        auto const kind = experiment::find_priority_kind(session);
        auto const owner = experiment::experiment_job_owner(session);
        if (session.wants_json()) {
            session.answer(as_json(groups, kind, owner));
        } else if (yaml_) {
            session.out << to_yaml(as_json(groups, kind, owner));
        } else {
            auto const table = as_table(groups, kind, session);
            if (csv_)
                session.out << table.render_csv();
            else
                print_table(session, table);
            explain_unknown_starts(groups, session);
        }
        return ExitCode::done;
    }

private:
    static void explain_unknown_starts(std::vector<RowGroup> const& groups, Session& session) {
        for (auto const& group : groups) {
            if (expected_start_text(group, {}) != "unknown") continue;
            auto const unknown = std::ranges::find_if(
                group, [](auto const* row) { return !row->start.unknown_because.empty(); });
            session.say(fmt::format("the expected start of a job is unknown if {}",
                                    (*unknown)->start.unknown_because));
            return;
        }
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
        return rows;
    }

    void choose_page(std::vector<RowGroup>& groups) const {
        if (reverse_) std::ranges::reverse(groups);
        auto const left_out = std::min<std::size_t>(offset_.value_or(0), groups.size());
        groups.erase(groups.begin(), groups.begin() + static_cast<std::ptrdiff_t>(left_out));
        bool const is_limited = limit_ && pages_ != "all";
        if (is_limited && groups.size() > *limit_) groups.resize(*limit_);
    }

    /// \pre Each group has one job.
    static Json as_json(std::vector<RowGroup> const& groups, queue::PriorityKind kind,
                        queue::ExperimentJobOwner const& owner) {
        auto answer = Json::array();
        for (auto const& group : groups) {
            auto const& [place, shown, slots, start] = *group.front();
            auto const& job = *shown;
            bool const has_nodes = queue::has_nodes(job);
            auto const own = queue::experiment_of(job, owner);
            answer.push_back({{"id", slurm::to_string(job.ref)},
                              {"type", experiment::determined_type_of(job)},
                              {"name", job.name},
                              {"priority", job.priority},
                              {"determined_priority", queue::level_of(job, kind)},
                              {"nice", job.nice},
                              {"submitted", json_or_null(job.submit_time)},
                              {"started", has_nodes ? json_or_null(job.start_time) : Json(nullptr)},
                              {"start_estimate", json_or_null(start.time)},
                              {"start_unknown_because", text_or_null(start.unknown_because)},
                              {"slots_acquired", has_nodes ? slots : 0},
                              {"slots_needed", slots},
                              {"state", experiment::determined_status_of(job)},
                              {"slurm_state", job.state_text},
                              {"reason", job.reason},
                              {"reason_in_words", has_nodes ? "" : queue::explain_reason(job.reason)},
                              {"resource_pool", job.partition},
                              {"user", job.user},
                              {"experiment", json_or_null(own)},
                              {"comment", job.comment}});
        }
        return answer;
    }

    Table as_table(std::vector<RowGroup> const& groups, queue::PriorityKind kind,
                   Session const& session) const {
        // The CSV has the same columns on each site.
        bool const has_slurm_priority = csv_ || kind != queue::PriorityKind::basic;
        std::vector<std::string> header{"#", "ID", "Experiment", "Type", "Job Name", "Priority"};
        if (has_slurm_priority) header.emplace_back("Slurm Priority");
        for (auto const* name :
             {"Submitted", "Slots (acquired/needed)", "Status", "User", "Expected Start", "Waits Because"})
            header.emplace_back(name);
        Table table(std::move(header),
                    {"Slurm Priority", "Submitted", "Type", "Priority", "User", "Slots (acquired/needed)"});
        ExperimentTexts experiments(session);
        auto const time_text = answer_style_of(session, csv_).time;
        for (auto const& group : groups) {
            auto const& first = *group.front()->job;
            std::vector<std::string> row{queue::is_held(first) ? "N/A" : std::to_string(group.front()->place),
                                         jobs_text(group),
                                         experiments.of(first),
                                         type_in_words(first),
                                         name_text(group),
                                         level_text(group, kind)};
            if (has_slurm_priority) row.push_back(slurm_priority_text(group, kind));
            for (auto text : {time_text(first.submit_time), slots_text_of_group(group), states_text(group),
                              first.user, expected_start_text(group, time_text), reasons_text(group)})
                row.push_back(std::move(text));
            table.add(std::move(row));
        }
        return table;
    }

    std::optional<std::string> pool_;
    std::optional<std::string> user_;
    std::optional<std::uint32_t> limit_, offset_;
    std::optional<std::string> pages_;
    bool array_ = false, reverse_ = false, csv_ = false, yaml_ = false, table_ = false;
};

}  // namespace

std::unique_ptr<Command> make_job_list() { return std::make_unique<JobList>(); }

}  // namespace det::cli
