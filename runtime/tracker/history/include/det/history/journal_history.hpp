#pragma once
#include <det/history/history.hpp>
#include <det/protocol/layout.hpp>

namespace det::history {

/// Reads a root's journals, events and specs afresh at every call: the truth itself, no index.
class JournalHistory final : public History {
public:
    explicit JournalHistory(RootLayout root) : root_(std::move(root)) {}

    Result<std::vector<ExperimentId>> list_experiments() override;
    Result<ExperimentRecord> load_experiment(ExperimentId id) override;
    Result<std::vector<RunReports>> load_reports(TrialId id) override;

private:
    RootLayout root_;
};

}  // namespace det::history
