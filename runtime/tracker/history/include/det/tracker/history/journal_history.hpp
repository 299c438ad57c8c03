#pragma once
#include <det/protocol/directory_layout.hpp>
#include <det/tracker/history/history.hpp>

namespace det::tracker::history {

/// Reads the journals, events and specifications of a root anew at every call, without an index.
class JournalHistory final : public History {
public:
    explicit JournalHistory(RootLayout root) : root_(std::move(root)) {}

    Result<std::vector<ExperimentId>> list_experiments() override;
    Result<ExperimentRecord> load_experiment(ExperimentId id) override;
    Result<std::vector<RunReports>> load_reports(TrialId id) override;
    Result<std::vector<search::RungEntry>> load_rung(ExperimentId id, std::uint32_t bracket,
                                                     std::uint32_t rung) override;
    Result<std::optional<journal::BestValidation>> load_best_validation(TrialId id,
                                                                        ExperimentSpec const& spec) override;

    // The steps of load_experiment(), for a caller that keeps the parts that no longer change.

    /// An experiment without its trials.
    Result<ExperimentRecord> load_experiment_without_trials(ExperimentId id);
    /// \param experiment with or without its trials
    Result<TrialRecord> load_trial(ExperimentRecord const& experiment, std::uint32_t index);

private:
    RootLayout root_;
};

}  // namespace det::tracker::history
