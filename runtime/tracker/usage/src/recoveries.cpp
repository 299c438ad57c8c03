#include <det/tracker/usage/recoveries.hpp>

#include <algorithm>
#include <array>

#include "run_phases.hpp"

namespace det::tracker::usage {
namespace {

std::optional<UtcTime> last_report_of(history::RunReports const& run) {
    auto last = run.first_step;
    auto const raise_to = [&](UtcTime time) { last = std::max(last.value_or(time), time); };
    if (!run.metrics.empty()) raise_to(run.metrics.back().time);
    if (!run.checkpoints.empty()) raise_to(run.checkpoints.back().time);
    return last;
}

/// Sets the time of the fault, its source, and the nodes.
void find_fault(Recovery& found, lifecycle::RunView const& run, history::RunReports const& reports,
                std::span<RankFailure const> failures) {
    auto const& ended = run.ended;
    auto const first = first_to_fail(failures);
    bool const is_node_lost = !ended || ended->cause == Cause::node_failed;
    if (first && !is_node_lost) {
        found.fault = first->time;
        found.fault_source = FaultSource::rank;
        if (first->lost_peer.empty()) found.nodes = first->host;
    } else if (auto const last = last_report_of(reports)) {
        found.fault = *last;
        found.fault_source = FaultSource::report;
    } else {
        found.fault = ended ? ended->time : run.started->time;
        found.fault_source = FaultSource::end;
    }
    // Clocks of nodes differ.
    if (ended) found.fault = std::min(found.fault, ended->time);
    if (ended && !ended->bad_hosts.empty()) found.nodes = ended->bad_hosts;
}

}  // namespace

std::string_view to_string(FaultSource source) {
    constexpr std::array<std::string_view, 3> names{"rank", "report", "end"};
    return names.at(static_cast<std::size_t>(source));
}

std::string_view to_string(StateSource source) {
    constexpr std::array<std::string_view, 3> names{"memory", "checkpoint", "beginning"};
    return names.at(static_cast<std::size_t>(source));
}

std::vector<Recovery> find_recoveries(history::TrialRecord const& trial,
                                      std::span<history::RunReports const> reports,
                                      std::span<std::vector<RankFailure> const> failures) {
    std::vector<history::RunReports> all(reports.begin(), reports.end());
    all.resize(trial.runs.size());
    std::vector<Recovery> recoveries;
    for (std::size_t i = 1; i < trial.runs.size(); ++i) {
        auto const& before = trial.runs[i - 1];
        auto const& run = trial.runs[i];
        if (!run.started || !before.started || !is_fault(before.ended)) continue;
        Recovery found;
        found.run = {trial.id, static_cast<std::uint32_t>(i)};
        found.cause = before.ended ? std::string(before.ended->cause_name()) : "unknown";
        find_fault(found, before, all[i - 1],
                   i - 1 < failures.size() ? std::span<RankFailure const>(failures[i - 1])
                                           : std::span<RankFailure const>());
        found.first_step = training_began(all[i]);
        found.steps_completed = all[i].beginning.resumed_from.value_or(0);
        if (is_continued_from_memory(run, all[i])) {
            found.from = StateSource::memory;
        } else if (!run.started->latest_checkpoint.empty()) {
            found.from = StateSource::checkpoint;
        }
        auto const last_step = all[i - 1].last_step.value_or(0);
        found.repeated_steps = last_step - std::min(last_step, found.steps_completed);
        found.is_same_allocation = before.started->job == run.started->job &&
                                   before.started->restart_count == run.started->restart_count;
        recoveries.push_back(std::move(found));
    }
    return recoveries;
}

}  // namespace det::tracker::usage
