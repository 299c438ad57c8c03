#pragma once
#include <det/journal/best_validation.hpp>
#include <det/journal/merge_ranks.hpp>
#include <det/journal/superseded.hpp>
#include <det/journal/trial_replacements.hpp>
#include <det/lifecycle/state.hpp>
#include <det/protocol/array_job.hpp>
#include <det/protocol/desired_state.hpp>
#include <det/protocol/experiment_spec.hpp>
#include <det/protocol/record.hpp>
#include <det/search/rung.hpp>
#include <det/slurm/job.hpp>
#include <det/tracker/history/curve.hpp>
#include <det/tracker/history/summary.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace det::tracker::history {

/// A trial as its supervisors recorded it.
struct TrialRecord {
    TrialId id;
    DesiredState desired = DesiredState::run;
    std::vector<lifecycle::RunView> runs;     // runs[n] is run n
    std::optional<slurm::JobRef> claimed_by;  // the array task that claimed the trial
};

/// An experiment as recorded in its directory. view.hpp adds the state of Slurm's queue.
struct ExperimentRecord {
    ExperimentId id;
    std::optional<ExperimentSpec> spec;  // empty while it is being created, or if creation was interrupted
    std::vector<Event> events;
    DesiredState desired = DesiredState::run;
    // trials[i] is trial i: first the planned ones, then those that replace invalid ones
    std::vector<TrialRecord> trials;
    journal::Replacements replacements = {};

    /// The job arrays that were submitted for it, in order; none before the `created` event.
    std::vector<ArrayJob> arrays() const { return array_jobs_of(events); }
    std::uint32_t revision() const { return spec ? spec->revision() : 0; }
    /// The number of its trials by the specification and the replacements, also if `trials` was not loaded.
    std::uint32_t trial_count() const;
    /// Whether array tasks claim their trials: several trials share a job, or there are fewer tasks than
    /// trials. The task of a trial is then known once it has claimed the trial.
    bool tasks_claim_trials() const { return spec && spec->claims_trials(); }
    /// The planned trial whose array task also runs this trial: the trial itself, unless it is a replacement.
    std::uint32_t planned_trial(std::uint32_t trial) const;
    /// The task that runs a trial; empty while no task has claimed it.
    std::optional<slurm::JobRef> task_of(std::uint32_t trial) const;
};

/// The records of a run's chief, and the metrics of all ranks.
struct RunReports {
    std::uint32_t run = 0;
    std::vector<MetricsReported> metrics;  // as journal::merge_ranks() joins them
    std::vector<CheckpointCommitted> checkpoints;
    std::optional<double> progress;
    std::optional<std::uint64_t> last_step = {};  // the highest in a report of training or validation metrics
    std::optional<std::string> status = {};
    std::vector<AlertRaised> alerts = {};
    std::optional<JsonValue> metadata = {};  // the last that the program has set
    std::uint64_t dropped_reports = 0;       // that the program made and that are not among these
    std::optional<UtcTime> first_step = {};
    std::optional<PreemptionAcknowledged> acknowledged = {};
    journal::RunBeginning beginning = {};
    journal::CutOff cut_off = {};  // see set_cut_offs()

    /// Takes a record of the chief's journal into account, or the RunStarted of the run's `life`. Records
    /// come in order.
    void add(Record const& record);
    /// Takes the step of a report into account, which add() also does for reports that it keeps.
    void add_step(std::string_view group, std::uint64_t steps_completed);
    /// Adds the reports of the ranks other than the chief, in the order of the ranks, after all records.
    void add(std::vector<journal::RankMetrics> others);
    /// Whether a later run trained the steps of this report again.
    bool is_superseded(MetricsReported const& report) const {
        return cut_off.supersedes(report.group, report.steps_completed);
    }
};

/// Sets the cut-offs of all runs of a trial. Pure.
void set_cut_offs(std::vector<RunReports>& runs);

/// The errors of a History for ids that it does not have.
Error no_such_experiment(ExperimentId id, std::filesystem::path const& root);
Error no_such_trial(TrialId id);

/// The numbers of one metric in the reports of a run, in order. NaN and infinities are numbers. Where several
/// ranks have reported a step, those of the lowest rank (journal/merge_ranks.hpp).
struct RunSeries {
    std::uint32_t run = 0;
    std::vector<std::uint64_t> steps;
    std::vector<UtcTime> times;
    std::vector<double> values;

    std::size_t size() const { return values.size(); }
};

enum class SupersededReports { left_out, included };

/// A metric by its group and name.
struct MetricName {
    std::string group;
    std::string metric;
    friend auto operator<=>(MetricName const&, MetricName const&) = default;
};

/// Joins the numbers of the ranks of a run, in the order of the ranks, to those of RunSeries. Pure.
RunSeries merge_ranks(std::vector<RunSeries> of_ranks);

/// The numbers of one metric in the reports of a run. Pure.
RunSeries series_of(RunReports const& run, std::string_view group, std::string_view metric,
                    SupersededReports superseded);

/// Read access to the records of experiments: the journals themselves, or an index of them.
class History {
public:
    virtual ~History() = default;

    /// The ids of all experiments, ascending; empty if there are none yet.
    virtual Result<std::vector<ExperimentId>> list_experiments() = 0;
    /// An experiment with all its trials. codes::no_such_experiment if there is none, or it was deleted.
    virtual Result<ExperimentRecord> load_experiment(ExperimentId id) = 0;
    /// A list of experiments without their trials, newest first. The implementation here loads each
    /// experiment; an index has a faster one.
    virtual Result<ExperimentPage> list_summaries(ExperimentFilter const& filter);
    /// The reports of a trial's runs: one entry per run, in order. Superseded reports are among them.
    /// codes::no_such_trial if the experiment has no such trial.
    virtual Result<std::vector<RunReports>> load_reports(TrialId id) = 0;
    /// The trials that have arrived at a rung of the experiment's search, sorted by trial.
    virtual Result<std::vector<search::RungEntry>> load_rung(ExperimentId id, std::uint32_t bracket,
                                                             std::uint32_t rung) = 0;
    /// The best validation of a trial by the searcher's metric. Superseded reports do not count.
    /// \param spec of its experiment
    virtual Result<std::optional<journal::BestValidation>> load_best_validation(
        TrialId id, ExperimentSpec const& spec) = 0;
    /// The best validation of each of the first `count` trials of an experiment, in order. Fails if one of
    /// them cannot be loaded. The implementation here loads one after the other; an index has a faster one.
    virtual Result<std::vector<std::optional<journal::BestValidation>>> list_best_validations(
        ExperimentId id, std::uint32_t count, ExperimentSpec const& spec);
    /// One metric of a trial: one entry per run, in order. The implementation here uses load_reports(); an
    /// index has a faster one.
    virtual Result<std::vector<RunSeries>> load_series(TrialId id, std::string const& group,
                                                       std::string const& metric,
                                                       SupersededReports superseded);
    /// The curves of one metric of a trial, reduced to the points that a plot can show. The implementation
    /// here uses load_series(); an index has a faster one.
    virtual Result<std::vector<Curve>> load_curves(TrialId id, CurveQuery const& query);
    /// One curve of a metric for each of the first `count` trials of an experiment, in order. The query must
    /// not ask for all runs.
    virtual Result<std::vector<Curve>> load_trial_curves(ExperimentId id, std::uint32_t count,
                                                         CurveQuery const& query);
    /// The metrics of which a trial has reported numbers, sorted. The implementation here uses
    /// load_reports(); an index has a faster one.
    virtual Result<std::vector<MetricName>> list_metrics(TrialId id);
    /// The metrics of the first `count` trials of an experiment, sorted.
    virtual Result<std::vector<MetricName>> list_metrics(ExperimentId id, std::uint32_t count);
    /// What load_reports() returns, without the metrics. The implementation here loads and drops them; an
    /// index does not load them.
    virtual Result<std::vector<RunReports>> load_reports_without_metrics(TrialId id);
};

}  // namespace det::tracker::history
