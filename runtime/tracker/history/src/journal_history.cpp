#include <det/foundation/files.hpp>
#include <det/foundation/list_numeric_names.hpp>
#include <det/foundation/text.hpp>
#include <det/foundation/trusted_file.hpp>
#include <det/journal/damage.hpp>
#include <det/journal/event_log.hpp>
#include <det/journal/pack_summary.hpp>
#include <det/journal/reader.hpp>
#include <det/tracker/history/journal_history.hpp>

#include <algorithm>
#include <fmt/format.h>

namespace det::tracker::history {
namespace {

Result<std::optional<ExperimentSpec>> find_spec(ExperimentLayout const& layout) {
    auto spec = journal::load_spec(layout);
    if (!spec && spec.error().code == codes::no_such_file) return std::optional<ExperimentSpec>();
    if (!spec) return std::move(spec).error();
    return std::optional(*std::move(spec));
}

Result<std::optional<slurm::JobRef>> load_claim(TrialLayout const& layout) {
    auto const text = read_trusted_file(layout.claimed());
    if (!text && text.error().code == codes::no_such_file) return std::optional<slurm::JobRef>();
    if (!text) return text.error();
    return slurm::parse_job_ref(trim(*text));
}

}  // namespace

Result<journal::JournalContents> JournalHistory::load(std::filesystem::path const& journal) const {
    if (!on_damage_) return journal::load_journal(journal);
    DET_TRY_ASSIGN(auto contents, journal::salvage_journal(journal));
    journal::DamagedJournal const damaged{journal, contents.damage};
    if (!contents.damage.empty() && !journal::is_damage_accepted(damaged))
        on_damage_(journal::journal_damaged_error(damaged));
    return contents;
}

Result<lifecycle::RunView> JournalHistory::load_run(RunLayout const& run) const {
    DET_TRY_ASSIGN(auto const life, load(run.supervisor_journal()));
    lifecycle::RunView view;
    for (auto const& record : life.records) view.add(record);
    return view;
}

Result<TrialRecord> JournalHistory::read_trial(TrialLayout const& layout, TrialId id,
                                               bool tasks_claim_trials) const {
    TrialRecord trial{id, DesiredState::run, {}, {}};
    if (tasks_claim_trials) {
        DET_TRY_ASSIGN(trial.claimed_by, load_claim(layout));
    }
    DET_TRY_ASSIGN(trial.desired, journal::load_desired(layout.desired()));
    DET_TRY_ASSIGN(auto const runs, list_numeric_names(layout.runs()));
    for (auto const number : runs) {
        DET_TRY_ASSIGN(auto run, load_run(layout.run(number)));
        trial.runs.push_back(std::move(run));
    }
    return trial;
}

Error no_such_experiment(ExperimentId id, std::filesystem::path const& root) {
    return {codes::no_such_experiment,
            fmt::format("there is no experiment {} in '{}'", id.value, root.string()),
            "see 'det-submit experiment list'"};
}

Error no_such_trial(TrialId id) {
    return {codes::no_such_trial, fmt::format("experiment {} has no trial {}", id.experiment.value, id.index),
            fmt::format("see 'det-submit experiment describe {}'", id.experiment.value)};
}

Result<std::vector<ExperimentId>> JournalHistory::list_experiments() {
    DET_TRY_ASSIGN(auto const numbers, list_numeric_names(root_.experiments()));
    std::vector<ExperimentId> ids;
    for (auto const number : numbers) {
        bool const is_deleted = path_exists(ExperimentLayout(root_.experiment({number})).deleted());
        if (number != 0 && !is_deleted) ids.push_back({number});
    }
    return ids;
}

Result<ExperimentRecord> JournalHistory::load_experiment_without_trials(ExperimentId id) {
    ExperimentLayout layout(root_.experiment(id));
    if (!path_exists(layout.path()) || path_exists(layout.deleted()))
        return no_such_experiment(id, root_.path());
    DET_TRY(journal::require_readable(root_, id));
    layout = ExperimentLayout(root_, id);
    ExperimentRecord record;
    record.id = id;
    DET_TRY_ASSIGN(record.spec, find_spec(layout));
    DET_TRY_ASSIGN(auto events, journal::load_events(layout.events()));
    record.events = events_in_force(std::move(events), record.spec.value_or(ExperimentSpec()));
    layout = layout.at_revision(record.revision());
    DET_TRY_ASSIGN(record.desired, journal::load_desired(layout.desired()));
    if (!record.spec) return record;
    DET_TRY_ASSIGN(record.replacements, journal::load_replacements(layout, record.spec->trial_count));
    return record;
}

Result<TrialRecord> JournalHistory::load_trial(ExperimentRecord const& experiment, std::uint32_t index) {
    DET_TRY(journal::require_readable(root_, experiment.id));
    auto const layout = ExperimentLayout(root_, experiment.id).at_revision(experiment.revision());
    DET_TRY_ASSIGN(auto trial,
                   read_trial(layout.trial(index), {experiment.id, index}, experiment.tasks_claim_trials()));
    // If two processes replaced the same trial, no process runs the replacement with the higher index.
    bool const is_planned = experiment.spec && index < experiment.spec->trial_count;
    if (!is_planned && !experiment.replacements.contains(index)) trial.desired = DesiredState::cancel;
    return trial;
}

Result<ExperimentRecord> JournalHistory::load_experiment(ExperimentId id) {
    DET_TRY_ASSIGN(auto record, load_experiment_without_trials(id));
    for (std::uint32_t index = 0; index < record.trial_count(); ++index) {
        DET_TRY_ASSIGN(auto trial, load_trial(record, index));
        record.trials.push_back(std::move(trial));
    }
    return record;
}

// Reads the files of this trial only: a report of an experiment calls it for each of its trials, and an
// experiment may have thousands.
Result<std::vector<RunReports>> JournalHistory::load_reports(TrialId id) {
    DET_TRY(journal::require_readable(root_, id.experiment));
    ExperimentLayout const experiment(root_, id.experiment);
    auto const trial = experiment.trial(id.index);
    if (!path_exists(trial.path()) || path_exists(experiment.deleted())) {
        DET_TRY_ASSIGN(auto const record, load_experiment_without_trials(id.experiment));
        if (id.index >= record.trial_count()) return no_such_trial(id);
    }
    DET_TRY_ASSIGN(auto const runs, list_numeric_names(trial.runs()));
    std::vector<RunReports> reports;
    for (auto const number : runs) {
        DET_TRY_ASSIGN(auto const life, load_run(trial.run(number)));
        DET_TRY_ASSIGN(auto const journal, load(trial.run(number).chief_journal()));
        auto& run = reports.emplace_back();
        run.run = number;
        if (life.started) run.add(*life.started);
        for (auto const& record : journal.records) run.add(record);
        DET_TRY_ASSIGN(auto const ranks, journal::list_rank_journals(trial.run(number)));
        std::vector<journal::RankMetrics> others;
        for (auto const rank : ranks) {
            DET_TRY_ASSIGN(auto of_rank, load(trial.run(number).rank_journal(rank)));
            others.push_back(journal::metrics_of(std::move(of_rank)));
        }
        run.add(std::move(others));
    }
    set_cut_offs(reports);
    return reports;
}

Result<std::vector<search::RungEntry>> JournalHistory::load_rung(ExperimentId id, std::uint32_t bracket,
                                                                 std::uint32_t rung) {
    DET_TRY(journal::require_readable(root_, id));
    DET_TRY_ASSIGN(auto const names, list_trusted_directory(ExperimentLayout(root_, id).rung(bracket, rung)));
    return search::parse_rung(names);
}

Result<std::optional<journal::BestValidation>> JournalHistory::load_best_validation(
    TrialId id, ExperimentSpec const& spec) {
    DET_TRY(journal::require_readable(root_, id.experiment));
    return journal::load_best_validation(ExperimentLayout(root_, id.experiment).trial(id.index),
                                         spec.first_run_of(id.index),
                                         {spec.searcher.metric, spec.searcher.smaller_is_better});
}

}  // namespace det::tracker::history
