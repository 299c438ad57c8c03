#include <det/foundation/list_numeric_names.hpp>
#include <det/foundation/repeat_write.hpp>
#include <det/journal/event_log.hpp>
#include <det/journal/reader.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/json_number.hpp>
#include <det/sampler/trial_reports.hpp>
#include <det/search/search.hpp>

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>

namespace det::sampler {
namespace {

TrialProgress progress_after(RunEnded const& end) {
    if (end.cause == Cause::waits_for_search) return TrialProgress::waiting;
    if (end.next_action != NextAction::stop) return TrialProgress::running;
    switch (end.cause) {
        case Cause::finished:
            return TrialProgress::completed;
        case Cause::stopped_by_search:
            return TrialProgress::stopped;
        case Cause::canceled:
            return TrialProgress::canceled;
        case Cause::invalid_hyperparameters:
            return TrialProgress::invalid;
        default:
            return TrialProgress::failed;
    }
}

/// The numbers of a validation. Texts and lists of the program are not passed on.
Json numbers_of(MetricsReported const& report) {
    constexpr std::size_t names_max = 256;
    auto numbers = Json::object();
    for (auto const& [name, value] : report.metrics->items()) {
        if (numbers.size() < names_max && number_from_json(value)) numbers[name] = value;
    }
    return numbers;
}

Result<Json> load_last_validation(TrialLayout const& trial, std::vector<std::uint32_t> const& runs) {
    for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
        DET_TRY_ASSIGN(auto const journal,
                       journal::load_journal(trial.run(*run).chief_journal(), "validation"));
        for (auto record = journal.records.rbegin(); record != journal.records.rend(); ++record) {
            if (auto const* report = std::get_if<MetricsReported>(&*record)) return numbers_of(*report);
        }
    }
    return Json::object();
}

/// The end of the last run. nullopt: it has none, or there is no run.
Result<std::optional<RunEnded>> load_last_end(TrialLayout const& trial,
                                              std::vector<std::uint32_t> const& runs) {
    std::optional<RunEnded> last;
    if (runs.empty()) return last;
    DET_TRY_ASSIGN(auto const life, journal::load_journal(trial.run(runs.back()).supervisor_journal()));
    for (auto const& record : life.records) {
        if (auto const* end = std::get_if<RunEnded>(&record)) last = *end;
    }
    return last;
}

/// If the user has killed a trial that waited for its next run, that run never begins, and no record of a run
/// says that the trial has ended.
Result<TrialProgress> load_progress(TrialLayout const& trial, std::vector<std::uint32_t> const& runs) {
    DET_TRY_ASSIGN(auto const end, load_last_end(trial, runs));
    auto const progress = end ? progress_after(*end) : TrialProgress::running;
    bool const waits_for_run =
        end ? !has_ended(progress) && end->next_action != NextAction::restart_in_place : runs.empty();
    if (!waits_for_run) return progress;
    DET_TRY_ASSIGN(auto const desired, journal::load_desired(trial.desired()));
    bool const is_killed = desired == DesiredState::kill || desired == DesiredState::cancel;
    return is_killed ? TrialProgress::canceled : progress;
}

/// How many of the runs have ended because the trial had trained to its length.
Result<std::uint64_t> count_waits(TrialLayout const& trial, std::vector<std::uint32_t> const& runs) {
    std::uint64_t waits = 0;
    for (auto const run : runs) {
        DET_TRY_ASSIGN(auto const life, journal::load_journal(trial.run(run).supervisor_journal()));
        for (auto const& record : life.records) {
            auto const* end = std::get_if<RunEnded>(&record);
            if (end != nullptr && end->cause == Cause::waits_for_search) ++waits;
        }
    }
    return waits;
}

/// Reads what the runs of a trial from `first` on have recorded.
Status read_runs(TrialReport& report, TrialLayout const& layout, std::uint32_t first,
                 SearcherSpec const& searcher) {
    DET_TRY_ASSIGN(auto runs, list_numeric_names(layout.runs()));
    std::erase_if(runs, [&](auto const run) { return run < first; });
    // The state first: what an ended trial has reported is complete.
    DET_TRY_ASSIGN(report.progress, load_progress(layout, runs));
    DET_TRY_ASSIGN(auto last, load_last_validation(layout, runs));
    if (search::sampler_sets_lengths(searcher)) {
        DET_TRY_ASSIGN(report.waits, count_waits(layout, runs));
    }
    DET_TRY_ASSIGN(report.validations, journal::load_validations(layout, first, searcher.metric));
    report.last_validation = JsonValue(std::move(last));
    return Ok{};
}

}  // namespace

std::string_view to_string(TrialProgress progress) {
    constexpr std::array<std::string_view, 7> names{"running",  "completed", "stopped", "failed",
                                                    "canceled", "invalid",   "waiting"};
    return names[static_cast<std::size_t>(progress)];
}

Result<std::vector<TrialReport>> load_trial_reports(ExperimentLayout const& experiment,
                                                    ExperimentSpec const& spec, Decisions const& decisions,
                                                    std::vector<TrialReport> known) {
    std::map<std::uint32_t, TrialReport*> ended;
    for (auto& report : known) {
        if (has_ended(report.progress)) ended[report.trial] = &report;
    }
    std::vector<TrialReport> reports;
    for (auto const& decision : decisions.all) {
        if (!decision.answer.hyperparameters) continue;
        if (auto const found = ended.find(decision.trial); found != ended.end()) {
            reports.push_back(std::move(*found->second));
            continue;
        }
        TrialReport report{decision.trial, *decision.answer.hyperparameters};
        report.note = decision.answer.note;
        report.last_validation = JsonValue(Json::object());
        auto const read = read_runs(report, experiment.trial(decision.trial),
                                    spec.first_run_of(decision.trial), spec.searcher);
        if (!read && may_succeed_later(read.error())) return read.error();
        // One damaged journal must not end the trials that have not begun.
        if (!read) report.unreadable = read.error().message;
        reports.push_back(std::move(report));
    }
    return reports;
}

std::string describe_unreadable(std::span<TrialReport const> trials) {
    std::string text;
    for (auto const& each : trials) {
        if (!each.unreadable.empty())
            text += fmt::format("{}trial {}: {}", text.empty() ? "" : "; ", each.trial, each.unreadable);
    }
    return text.empty() ? text : "the sampler is told no validations of these trials: " + text;
}

}  // namespace det::sampler
