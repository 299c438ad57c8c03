#pragma once
#include <det/journal/reader.hpp>
#include <det/protocol/directory_layout.hpp>
#include <det/tracker/history/history.hpp>

#include <functional>

namespace det::tracker::history {

/// Reads the journals, events and specifications of a root anew at every call, without an index.
class JournalHistory final : public History {
public:
    /// Called with codes::journal_damaged for each damaged journal, each time it is read.
    using OnDamage = std::function<void(Error)>;

    /// \param on_damage if empty, a damaged journal is an error; else what is left of it is read. The best
    ///     validation is never taken from a damaged journal.
    explicit JournalHistory(RootLayout root, OnDamage on_damage = {})
        : root_(std::move(root)), on_damage_(std::move(on_damage)) {}

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
    Result<journal::JournalContents> load(std::filesystem::path const& journal) const;
    Result<lifecycle::RunView> load_run(RunLayout const& run) const;
    Result<TrialRecord> read_trial(TrialLayout const& layout, TrialId id, bool tasks_claim_trials) const;

    RootLayout root_;
    OnDamage on_damage_;
};

}  // namespace det::tracker::history
