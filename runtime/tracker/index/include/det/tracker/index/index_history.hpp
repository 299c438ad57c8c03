#pragma once
#include <det/tracker/history/history.hpp>
#include <det/tracker/index/database.hpp>
#include <det/tracker/index/records.hpp>
#include <det/tracker/index/report_reader.hpp>

#include <filesystem>
#include <functional>
#include <optional>

namespace det::tracker::index {

/// Reads the records of experiments from an index: the same ones that JournalHistory reads from the journals,
/// as of the last commit of the process that writes the index. Not thread-safe.
class IndexHistory final : public history::History {
public:
    /// \param root the directory of the experiments, for messages
    IndexHistory(Database index, std::filesystem::path root)
        : index_(std::move(index)), root_(std::move(root)) {}

    Result<std::vector<ExperimentId>> list_experiments() override;
    Result<history::ExperimentRecord> load_experiment(ExperimentId id) override;
    Result<history::ExperimentPage> list_summaries(history::ExperimentFilter const& filter) override;
    Result<std::vector<history::RunReports>> load_reports(TrialId id) override;
    Result<std::vector<history::RunReports>> load_reports_without_metrics(TrialId id) override;
    using history::History::list_metrics;
    Result<std::vector<history::MetricName>> list_metrics(TrialId id) override;
    Result<std::vector<search::RungEntry>> load_rung(ExperimentId id, std::uint32_t bracket,
                                                     std::uint32_t rung) override;
    /// Takes the stored value if `spec` has the metric and the first run of the experiment's own
    /// specification.
    Result<std::optional<journal::BestValidation>> load_best_validation(TrialId id,
                                                                        ExperimentSpec const& spec) override;

    Result<std::vector<std::optional<journal::BestValidation>>> list_best_validations(
        ExperimentId id, std::uint32_t trial_count, ExperimentSpec const& spec) override;

    Result<std::vector<history::RunSeries>> load_series(TrialId id, std::string const& group,
                                                        std::string const& metric,
                                                        history::SupersededReports superseded) override;

    Result<std::vector<history::Curve>> load_curves(TrialId id, history::CurveQuery const& query) override;

    /// For queries that only an index can answer.
    Database& database() { return index_; }

private:
    /// The journals of the ranks of a trial's runs, the chief's first, and what they hold without the
    /// metrics.
    struct OpenTrial {
        std::vector<std::vector<JournalRow>> journals;
        std::vector<history::RunReports> runs;
    };
    using VisitPart = std::function<void(history::SeriesPart const&)>;

    using BestValidations = std::vector<std::optional<journal::BestValidation>>;
    Result<std::optional<BestValidations>> find_stored_best_validations(ExperimentId id,
                                                                        std::uint32_t trial_count,
                                                                        ExperimentSpec const& spec);
    Result<OpenTrial> open_trial(TrialId id);
    Status visit_run(std::vector<JournalRow> const& journals, SeriesName const& name,
                     std::uint64_t first_superseded, VisitPart const& visit);
    Status extend_range(history::AxisRange& range, std::vector<JournalRow> const& journals,
                        SeriesName const& name, std::uint64_t first_superseded, history::Axis axis);

    Database index_;
    std::filesystem::path root_;
};

/// Finds the best validation of a trial among the reports in the index, as journal::load_best_validation()
/// does in the journals. Fails with the error of a journal that can't be read.
Result<std::optional<journal::BestValidation>> find_best_validation(Database& index,
                                                                    history::TrialRecord const& trial,
                                                                    ExperimentSpec const& spec);

}  // namespace det::tracker::index
