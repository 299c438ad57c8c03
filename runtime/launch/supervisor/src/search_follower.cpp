#include "search_follower.hpp"

#include <det/foundation/list_numeric_names.hpp>
#include <det/journal/reader.hpp>
#include <det/journal/trial_replacements.hpp>
#include <det/protocol/json.hpp>

#include <fmt/format.h>

namespace det::launch::supervisor {
namespace {

// Opening a file is a request to the server of the shared file system: less than one in ten seconds for each
// running trial.
constexpr std::chrono::seconds open_interval{15};

}  // namespace

Result<std::optional<SearchFollower>> SearchFollower::open(BatchJob const& batch_job, RunId run,
                                                           search::TrialDraw const& draw) {
    auto const& spec = batch_job.spec;
    if (!search::is_asha(spec.searcher.name)) return std::optional<SearchFollower>();
    auto asha = search::plan_asha(spec.searcher);
    if (!asha) return std::move(asha).error().front().error;
    DET_TRY_ASSIGN(auto const replacements,
                   journal::load_replacements(batch_job.experiment, spec.trial_count));
    auto const planned = journal::find_planned_trial(replacements, run.trial.index);
    auto const bracket = search::BracketAssignment(*asha).bracket_of(planned);
    search::ReportFormat format{spec.searcher.metric, asha->length,
                                search::read_batch_size(*spec.config, *draw.hyperparameters)};
    RungDirectory rungs(batch_job.experiment, *asha);
    SearchFollower follower({*std::move(asha), bracket, run.trial.index, run.number > 0}, std::move(format),
                            std::move(rungs));
    auto const trial = batch_job.experiment.trial(run.trial.index);
    DET_TRY(follower.load_earlier_runs(trial, run.number));
    follower.journals_.emplace_back(trial.run(run.number).chief_journal());
    return std::optional(std::move(follower));
}

Status SearchFollower::load_earlier_runs(TrialLayout const& trial, std::uint32_t run) {
    DET_TRY_ASSIGN(auto const numbers, list_numeric_names(trial.runs()));
    for (auto const number : numbers) {
        if (number >= run) break;
        DET_TRY_ASSIGN(auto const life, journal::load_journal(trial.run(number).supervisor_journal()));
        for (auto const& record : life.records) {
            if (auto const* decision = std::get_if<SearchDecision>(&record)) search_.apply(*decision);
        }
        journals_.emplace_back(trial.run(number).chief_journal());
    }
    return Ok{};
}

std::string SearchFollower::describe_end() const {
    if (!end_decision()) return "";
    if (end_decision()->decision == "complete")
        return fmt::format("it has trained {}", search_.length().describe());
    return search::describe(*end_decision());
}

Status SearchFollower::follow(RunRecord& record, Clock const& clock) {
    // The chief writes on this node, as a rule; where it does not, its reports are seen at the next opening.
    auto const now = clock.steady_now();
    if (now >= next_open_at_) {
        journals_.back().close_file();
        next_open_at_ = now + open_interval;
    }
    for (auto& journal : journals_) DET_TRY(read_reports(journal));
    journals_.erase(journals_.begin(), journals_.end() - 1);  // earlier runs have ended: they write no more
    for (; !reports_.empty(); reports_.pop_front()) DET_TRY(decide(reports_.front(), record, clock));
    return Ok{};
}

Status SearchFollower::read_reports(journal::JournalTail& journal) {
    for (;;) {
        DET_TRY_ASSIGN(auto const records, journal.read_new());
        if (records.empty()) return Ok{};
        for (auto const& record : records) {
            if (auto const report = read(record)) reports_.push_back(*report);
        }
    }
}

std::optional<search::SearchReport> SearchFollower::read(Record const& record) {
    if (auto const* operation = std::get_if<OperationCompleted>(&record))
        return search::SearchReport{steps_completed_, static_cast<double>(operation->length),
                                    operation->metric};
    auto const* metrics = std::get_if<MetricsReported>(&record);
    if (metrics == nullptr || metrics->group != "validation" || !invalid_report_reason_.empty())
        return std::nullopt;
    auto const report = search::read_report(*metrics, format_);
    if (!report) {
        invalid_report_reason_ = report.error().message;
        return std::nullopt;
    }
    steps_completed_ = report->steps_completed;
    return *report;
}

Status SearchFollower::decide(search::SearchReport const& report, RunRecord& record, Clock const& clock) {
    while (search_.reaches_rung(report) && !record.has_newer_run().value_or(false)) {
        DET_TRY_ASSIGN(auto decision, search_.decide(report, rungs_));
        decision->time = clock.now();
        DET_TRY(record.record_decision(*decision));
        search_.apply(*decision);
    }
    return Ok{};
}

}  // namespace det::launch::supervisor
