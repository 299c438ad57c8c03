#include <det/protocol/compare_metrics.hpp>
#include <det/tracker/index/index_history.hpp>
#include <det/tracker/index/records.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace det::tracker::index {
namespace {

constexpr char validation_group[] = "validation";
constexpr auto none_superseded = std::numeric_limits<std::uint64_t>::max();

/// The journals of the ranks of a run, the chief's first, in the order of the ranks.
using RankJournals = std::vector<JournalRow>;

/// The journals of the ranks of each run in the index, in order. Fails with the error of a journal that can't
/// be read.
Result<std::vector<RankJournals>> list_rank_journals(Database& index, TrialId trial) {
    DET_TRY_ASSIGN(auto journals, list_journals(index, trial));
    std::erase_if(journals, [](JournalRow const& journal) { return !journal.key.is_of_rank(); });
    for (auto const& journal : journals)
        if (journal.error) return *journal.error;
    std::ranges::sort(journals, {}, [](JournalRow const& journal) {
        return std::pair(journal.key.run, journal.key.rank());
    });
    std::vector<RankJournals> runs;
    for (auto& journal : journals) {
        if (journal.key.node == JournalKey::chief) runs.emplace_back();
        if (!runs.empty()) runs.back().push_back(std::move(journal));
    }
    return runs;
}

/// The reports of the runs without their metrics, with the beginnings of the runs and what is superseded.
std::vector<history::RunReports> reports_of(std::vector<RankJournals> const& runs,
                                            history::TrialRecord const& trial) {
    std::vector<history::RunReports> reports;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        auto& run = reports.emplace_back(runs[i].front().records);
        auto& first_steps = run.beginning.first_steps;
        for (auto const& journal : runs[i]) {
            auto const& others = journal.records.beginning.first_steps;
            first_steps.insert(others.begin(), others.end());  // keeps those of lower ranks
            if (&journal != &runs[i].front()) run.dropped_reports += journal.records.dropped_reports;
        }
        if (i < trial.runs.size() && trial.runs[i].started) run.add(*trial.runs[i].started);
    }
    history::set_cut_offs(reports);
    return reports;
}

/// The numbers of a metric in a run, as history::RunSeries describes them.
Result<Series> load_series_of_run(Database& index, RankJournals const& journals, SeriesName const& name) {
    if (journals.size() == 1) return load_series(index, journals.front().id, name);
    std::vector<history::RunSeries> of_ranks;
    for (auto const& journal : journals) {
        DET_TRY_ASSIGN(auto series, load_series(index, journal.id, name));
        of_ranks.push_back(
            {journal.key.run, std::move(series.steps), std::move(series.times), std::move(series.values)});
    }
    auto merged = history::merge_ranks(std::move(of_ranks));
    return Series{std::move(merged.steps), std::move(merged.times), std::move(merged.values)};
}

/// All reports of the ranks of a run.
Result<std::vector<MetricsReported>> load_reports_of_run(Database& index, RankJournals const& journals) {
    std::vector<MetricsReported> chief;
    std::vector<journal::RankMetrics> others;
    for (auto const& journal : journals) {
        DET_TRY_ASSIGN(auto reports, load_reports(index, journal.id));
        for (auto& report : reports) report.rank = journal.key.rank();
        if (journal.key.node == JournalKey::chief) {
            chief = std::move(reports);
        } else {
            others.push_back({std::move(reports)});
        }
    }
    return journal::merge_ranks(std::move(chief), std::move(others));
}

void keep_best(std::optional<journal::BestValidation>& best, Series const& series,
               history::RunReports const& run, bool smaller_is_better) {
    auto const first_superseded = run.cut_off.first_superseded_step(validation_group);
    auto const is_superseded = [&](std::uint64_t step) {
        return step >= first_superseded && run.cut_off.supersedes(validation_group, step);
    };
    for (std::size_t i = 0; i < series.size(); ++i) {
        if (!std::isfinite(series.values[i]) || is_superseded(series.steps[i])) continue;
        if (!best || is_better(series.values[i], best->value, smaller_is_better))
            best = journal::BestValidation{series.values[i], series.steps[i]};
    }
}

history::RunSeries run_series_of(Series series, history::RunReports const& run, std::string const& group,
                                 history::SupersededReports superseded) {
    history::RunSeries result{run.run, {}, {}, {}};
    // Nothing below this step is superseded.
    auto const first = superseded == history::SupersededReports::included
                           ? none_superseded
                           : run.cut_off.first_superseded_step(group);
    bool const is_whole = first == none_superseded ||
                          std::ranges::none_of(series.steps, [&](auto step) { return step >= first; });
    if (is_whole) {
        result.steps = std::move(series.steps);
        result.times = std::move(series.times);
        result.values = std::move(series.values);
        return result;
    }
    for (std::size_t i = 0; i < series.size(); ++i) {
        if (series.steps[i] >= first && run.cut_off.supersedes(group, series.steps[i])) continue;
        result.steps.push_back(series.steps[i]);
        result.times.push_back(series.times[i]);
        result.values.push_back(series.values[i]);
    }
    return result;
}

}  // namespace

Result<std::optional<journal::BestValidation>> find_best_validation(Database& index,
                                                                    history::TrialRecord const& trial,
                                                                    ExperimentSpec const& spec) {
    DET_TRY_ASSIGN(auto const journals, list_rank_journals(index, trial.id));
    auto const runs = reports_of(journals, trial);
    std::optional<journal::BestValidation> best;
    for (std::size_t i = 0; i < journals.size(); ++i) {
        if (journals[i].front().key.run < spec.first_run_of(trial.id.index)) continue;
        DET_TRY_ASSIGN(auto const series,
                       load_series_of_run(index, journals[i], {validation_group, spec.searcher.metric}));
        keep_best(best, series, runs[i], spec.searcher.smaller_is_better);
    }
    return best;
}

Result<std::vector<ExperimentId>> IndexHistory::list_experiments() { return index::list_experiments(index_); }

Result<history::ExperimentPage> IndexHistory::list_summaries(history::ExperimentFilter const& filter) {
    return index::list_summaries(index_, filter);
}

Result<history::ExperimentRecord> IndexHistory::load_experiment(ExperimentId id) {
    DET_TRY_ASSIGN(auto transaction, Transaction::begin(index_));
    DET_TRY_ASSIGN(auto found, find_experiment(index_, id));
    if (!found) return history::no_such_experiment(id, root_);
    if (found->error) return *std::move(found->error);
    DET_TRY_ASSIGN(auto trials, list_trials(index_, id));
    for (auto& trial : trials) found->record.trials.push_back(std::move(trial.record));
    return std::move(found->record);
}

/// Must be called inside a transaction.
Result<IndexHistory::OpenTrial> IndexHistory::open_trial(TrialId id) {
    DET_TRY_ASSIGN(auto const experiment, find_experiment(index_, id.experiment));
    if (!experiment) return history::no_such_experiment(id.experiment, root_);
    if (experiment->error) return *experiment->error;
    DET_TRY_ASSIGN(auto const trial, find_trial(index_, id));
    if (!trial) return history::no_such_trial(id);
    DET_TRY_ASSIGN(auto journals, list_rank_journals(index_, id));
    auto runs = reports_of(journals, trial->record);
    return OpenTrial{std::move(journals), std::move(runs)};
}

Result<std::vector<history::RunReports>> IndexHistory::load_reports(TrialId id) {
    DET_TRY_ASSIGN(auto transaction, Transaction::begin(index_));
    DET_TRY_ASSIGN(auto opened, open_trial(id));
    auto& [journals, runs] = opened;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        DET_TRY_ASSIGN(runs[i].metrics, load_reports_of_run(index_, journals[i]));
    }
    return std::move(runs);
}

Result<std::vector<history::RunReports>> IndexHistory::load_reports_without_metrics(TrialId id) {
    DET_TRY_ASSIGN(auto transaction, Transaction::begin(index_));
    DET_TRY_ASSIGN(auto opened, open_trial(id));
    return std::move(opened.runs);
}

Result<std::vector<history::MetricName>> IndexHistory::list_metrics(TrialId id) {
    DET_TRY_ASSIGN(auto transaction, Transaction::begin(index_));
    DET_TRY_ASSIGN(auto const opened, open_trial(id));
    std::set<history::MetricName> names;
    for (auto const& journals : opened.journals) {
        for (auto const& journal : journals) {
            DET_TRY_ASSIGN(auto const series, list_series(index_, journal.id));
            for (auto const& [group, name] : series) names.insert({group, name});
        }
    }
    return std::vector(names.begin(), names.end());
}

Result<std::vector<history::RunSeries>> IndexHistory::load_series(TrialId id, std::string const& group,
                                                                  std::string const& metric,
                                                                  history::SupersededReports superseded) {
    DET_TRY_ASSIGN(auto transaction, Transaction::begin(index_));
    DET_TRY_ASSIGN(auto const opened, open_trial(id));
    auto const& [journals, runs] = opened;
    std::vector<history::RunSeries> found;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        DET_TRY_ASSIGN(auto series, load_series_of_run(index_, journals[i], {group, metric}));
        found.push_back(run_series_of(std::move(series), runs[i], group, superseded));
    }
    return found;
}

/// Visits the points of a run whose steps are below `first_superseded`.
Status IndexHistory::visit_run(std::vector<JournalRow> const& journals, SeriesName const& name,
                               std::uint64_t first_superseded, VisitPart const& visit) {
    auto const visit_part = [&](history::SeriesPart const& part) {
        bool const is_whole =
            first_superseded == none_superseded ||
            std::ranges::all_of(part.steps, [&](auto step) { return step < first_superseded; });
        if (is_whole) return visit(part);
        Series kept;
        for (std::size_t i = 0; i < part.steps.size(); ++i) {
            if (part.steps[i] >= first_superseded) continue;
            kept.steps.push_back(part.steps[i]);
            kept.times.push_back(part.times[i]);
            kept.values.push_back(part.values[i]);
        }
        visit({kept.steps, kept.times, kept.values});
    };
    if (journals.size() == 1) return visit_series(index_, journals.front().id, name, visit_part);
    DET_TRY_ASSIGN(auto const series, load_series_of_run(index_, journals, name));
    visit_part({series.steps, series.times, series.values});
    return Ok{};
}

Status IndexHistory::extend_range(history::AxisRange& range, std::vector<JournalRow> const& journals,
                                  SeriesName const& name, std::uint64_t first_superseded,
                                  history::Axis axis) {
    if (axis == history::Axis::steps && journals.size() == 1) {
        DET_TRY_ASSIGN(auto const steps, find_step_range(index_, journals.front().id, name));
        if (!steps) return Ok{};
        if (steps->last < first_superseded || first_superseded == none_superseded) {
            range.extend_to(static_cast<double>(steps->first));
            range.extend_to(static_cast<double>(steps->last));
            return Ok{};
        }
    }
    return visit_run(journals, name, first_superseded, [&](history::SeriesPart const& part) {
        for (auto const step : part.steps)
            if (axis == history::Axis::steps) range.extend_to(static_cast<double>(step));
        for (auto const time : part.times)
            if (axis == history::Axis::time) range.extend_to(static_cast<double>(time.microseconds));
    });
}

Result<std::vector<history::Curve>> IndexHistory::load_curves(TrialId id, history::CurveQuery const& query) {
    DET_TRY_ASSIGN(auto transaction, Transaction::begin(index_));
    DET_TRY_ASSIGN(auto const opened, open_trial(id));
    auto const& [journals, runs] = opened;
    SeriesName const name{query.group, query.metric};
    auto const first_superseded = [&](std::size_t run) {
        return query.all_runs ? none_superseded : runs[run].cut_off.first_superseded_step(query.group);
    };
    history::AxisRange extent;
    for (std::size_t i = 0; i < runs.size() && !(query.from && query.to); ++i)
        DET_TRY(extend_range(extent, journals[i], name, first_superseded(i), query.axis));
    auto const range = history::choose_range(query, extent);
    std::vector<history::Curve> curves;
    history::CurveDownsampler joined(query.axis, query.width, range);
    for (std::size_t i = 0; i < runs.size(); ++i) {
        std::optional<history::CurveDownsampler> own;
        if (query.all_runs) own.emplace(query.axis, query.width, range);
        auto& reducer = own ? *own : joined;
        DET_TRY(visit_run(journals[i], name, first_superseded(i),
                          [&](history::SeriesPart const& part) { reducer.add(part); }));
        if (own) curves.push_back(own->finish(runs[i].run));
    }
    if (!query.all_runs) curves.push_back(joined.finish(std::nullopt));
    return curves;
}

Result<std::vector<search::RungEntry>> IndexHistory::load_rung(ExperimentId id, std::uint32_t bracket,
                                                               std::uint32_t rung) {
    DET_TRY_ASSIGN(auto const names, find_rung(index_, id, bracket, rung));
    return search::parse_rung(names);
}

Result<std::optional<journal::BestValidation>> IndexHistory::load_best_validation(
    TrialId id, ExperimentSpec const& spec) {
    DET_TRY_ASSIGN(auto transaction, Transaction::begin(index_));
    DET_TRY_ASSIGN(auto const experiment, find_experiment(index_, id.experiment));
    DET_TRY_ASSIGN(auto const trial, find_trial(index_, id));
    if (!trial) return std::optional<journal::BestValidation>();
    DET_TRY(list_rank_journals(index_, id));  // one that can't be read is an error
    auto const& own = experiment ? experiment->record.spec : std::nullopt;
    bool const is_own = own && own->searcher.metric == spec.searcher.metric &&
                        own->searcher.smaller_is_better == spec.searcher.smaller_is_better &&
                        own->first_run_of(id.index) == spec.first_run_of(id.index);
    if (is_own) return trial->best;
    return find_best_validation(index_, trial->record, spec);
}

/// The stored values; nullopt if they are by another metric or of other runs, or a journal can't be read.
Result<std::optional<IndexHistory::BestValidations>> IndexHistory::find_stored_best_validations(
    ExperimentId id, std::uint32_t count, ExperimentSpec const& spec) {
    std::optional<BestValidations> found;
    DET_TRY_ASSIGN(auto transaction, Transaction::begin(index_));
    DET_TRY_ASSIGN(auto const experiment, find_experiment(index_, id));
    auto const& own = experiment ? experiment->record.spec : std::nullopt;
    bool const is_own = own && own->searcher.metric == spec.searcher.metric &&
                        own->searcher.smaller_is_better == spec.searcher.smaller_is_better &&
                        own->revisions == spec.revisions;
    if (!is_own) return found;
    bool has_error = false;
    DET_TRY(index_.for_each(
        "SELECT 1 FROM journals WHERE experiment=? AND node<=? AND error IS NOT NULL LIMIT 1",
        [&](Row const&) { has_error = true; }, id.value, JournalKey::chief));
    if (has_error) return found;
    found.emplace(count);
    DET_TRY(index_.for_each(
        "SELECT trial, best_value, best_steps FROM trials WHERE experiment=? AND trial<? AND best_value IS "
        "NOT NULL",
        [&](Row const& row) {
            (*found)[static_cast<std::size_t>(row.integer(0))] =
                journal::BestValidation{row.real(1), static_cast<std::uint64_t>(row.integer(2))};
        },
        id.value, count));
    return found;
}

Result<IndexHistory::BestValidations> IndexHistory::list_best_validations(ExperimentId id,
                                                                          std::uint32_t count,
                                                                          ExperimentSpec const& spec) {
    DET_TRY_ASSIGN(auto ready, find_stored_best_validations(id, count, spec));
    if (ready) return *std::move(ready);
    return History::list_best_validations(id, count, spec);
}

}  // namespace det::tracker::index
