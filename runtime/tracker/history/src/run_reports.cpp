#include <det/tracker/history/history.hpp>

#include <algorithm>

namespace det::tracker::history {
namespace {

// One function for each type of record that RunReports keeps.

void keep(RunReports& run, MetricsReported const& record) {
    run.add_step(record.group, record.steps_completed);
    run.metrics.push_back(record);
}
void keep(RunReports& run, CheckpointCommitted const& record) { run.checkpoints.push_back(record); }
void keep(RunReports& run, ProgressReported const& record) { run.progress = record.progress; }
void keep(RunReports& run, StatusSet const& record) { run.status = record.status; }
void keep(RunReports& run, AlertRaised const& record) { run.alerts.push_back(record); }
void keep(RunReports& run, TrialMetadataSet const& record) { run.metadata = record.metadata; }
void keep(RunReports& run, ReportsDropped const& record) { run.dropped_reports += record.count; }
void keep(RunReports& run, FirstStep const& record) { run.first_step = record.time; }
void keep(RunReports& run, PreemptionAcknowledged const& record) { run.acknowledged = record; }

}  // namespace

void RunReports::add(Record const& record) {
    beginning.add(record);
    std::visit(
        [&](auto const& typed) {
            if constexpr (requires { keep(*this, typed); }) keep(*this, typed);
        },
        record);
}

void RunReports::add_step(std::string_view group, std::uint64_t steps_completed) {
    if (group == "training" || group == "validation")
        last_step = std::max(last_step.value_or(0), steps_completed);
}

void RunReports::add(std::vector<journal::RankMetrics> others) {
    for (auto const& other : others) {
        beginning.add(other.reports);
        dropped_reports += other.dropped;
    }
    metrics = journal::merge_ranks(std::move(metrics), std::move(others));
}

void set_cut_offs(std::vector<RunReports>& runs) {
    std::vector<journal::RunBeginning> beginnings;
    for (auto const& run : runs) beginnings.push_back(run.beginning);
    auto const cut_offs = journal::find_cut_offs(beginnings);
    for (std::size_t i = 0; i < runs.size(); ++i) runs[i].cut_off = cut_offs[i];
}

}  // namespace det::tracker::history
