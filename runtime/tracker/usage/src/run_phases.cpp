#include "run_phases.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace det::tracker::usage {
namespace {

using history::RunReports;
using lifecycle::RunView;

/// Whether all training of a run with this cause of its end counts as kept, even if a later run began from an
/// earlier checkpoint.
bool keeps_all(Cause cause) {
    switch (cause) {
        case Cause::finished:
        case Cause::canceled:
        case Cause::idle:
        case Cause::stopped_by_search:
        case Cause::invalid_hyperparameters:
        case Cause::waits_for_search:
            return true;
        default:
            return false;
    }
}

Use lost_as(std::optional<RunEnded> const& ended) {
    if (!ended) return Use::lost_to_node;  // its supervisor was killed
    switch (ended->cause) {
        case Cause::preempted:
        case Cause::paused:
        case Cause::time_limit:
        case Cause::interrupted:
        case Cause::superseded:
            return Use::lost_to_preemption;
        case Cause::node_failed:
            return Use::lost_to_node;
        default:
            return Use::redone;
    }
}

bool has_reported(RunReports const& run) {
    return run.first_step || !run.metrics.empty() || !run.checkpoints.empty();
}

std::vector<Save> saves_of(RunReports const& run) {
    std::vector<Save> saves;
    for (auto const& checkpoint : run.checkpoints) {
        auto const blocked_s = std::clamp(checkpoint.blocked_s.value_or(0), 0.0, 1e9);
        saves.push_back({checkpoint.time, std::llround(blocked_s * 1e6)});
    }
    std::ranges::stable_sort(saves, {}, [](Save const& save) { return save.committed; });
    return saves;
}

/// The run that made a checkpoint, and when.
struct CommittedIn {
    std::size_t run;
    UtcTime time;
};
using Checkpoints = std::map<std::string, CommittedIn, std::less<>>;

Checkpoints index_checkpoints(std::span<RunReports const> reports) {
    Checkpoints checkpoints;
    for (std::size_t i = 0; i < reports.size(); ++i) {
        for (auto const& checkpoint : reports[i].checkpoints)
            checkpoints.try_emplace(checkpoint.uuid, CommittedIn{i, checkpoint.time});
    }
    return checkpoints;
}

/// The time of the last report before the first superseded one; `begun` if there is none before it; nullopt
/// if no report is superseded.
std::optional<UtcTime> last_kept_report(RunReports const& run, UtcTime begun) {
    auto last = begun;
    for (auto const& report : run.metrics) {
        if (run.is_superseded(report)) return last;
        last = report.time;
    }
    return std::nullopt;
}

/// The time until which all later runs built on the training of this run; nullopt if they built on all of it.
std::optional<UtcTime> used_until(std::size_t index, std::span<RunView const> runs,
                                  std::span<RunReports const> reports, Checkpoints const& checkpoints) {
    auto const begun = runs[index].started->time;
    std::optional<UtcTime> until;
    auto const lower_to = [&](std::optional<UtcTime> time) {
        if (time && (!until || *time < *until)) until = time;
    };
    for (std::size_t later = index + 1; later < runs.size(); ++later) {
        if (!runs[later].started) continue;
        auto const& uuid = runs[later].started->latest_checkpoint;
        if (uuid.empty() || is_continued_from_memory(runs[later], reports[later])) {
            lower_to(last_kept_report(reports[index], begun));
            continue;
        }
        auto const found = checkpoints.find(uuid);
        if (found == checkpoints.end() || found->second.run < index) lower_to(begun);
        if (found != checkpoints.end() && found->second.run == index) lower_to(found->second.time);
    }
    return until;
}

std::optional<UtcTime> kept_until(std::size_t index, std::span<RunView const> runs,
                                  std::span<RunReports const> reports, Checkpoints const& checkpoints) {
    auto const& run = runs[index];
    if (run.ended && keeps_all(run.ended->cause)) return std::nullopt;
    bool const is_last = index + 1 == runs.size();
    if (!is_last) return used_until(index, runs, reports, checkpoints);
    if (!run.ended) return std::nullopt;  // a run without a recorded end counts as running
    auto const& own = reports[index].checkpoints;
    return own.empty() ? run.started->time : own.back().time;
}

std::string start_cause(std::size_t index, std::span<RunView const> runs) {
    if (index == 0) return "first";
    auto const& before = runs[index - 1].ended;
    return before ? std::string(before->cause_name()) : "unknown";
}

}  // namespace

bool is_fault(std::optional<RunEnded> const& ended) {
    return !(ended && keeps_all(ended->cause)) && lost_as(ended) != Use::lost_to_preemption;
}

std::optional<UtcTime> training_began(RunReports const& run) {
    if (run.first_step) return run.first_step;
    std::optional<UtcTime> first;
    if (!run.metrics.empty()) first = run.metrics.front().time;
    if (!run.checkpoints.empty() && (!first || run.checkpoints.front().time < *first))
        first = run.checkpoints.front().time;
    return first;
}

bool is_continued_from_memory(lifecycle::RunView const& run, RunReports const& reports) {
    auto const& from = reports.beginning.resumed_from;
    return from && (run.started->latest_checkpoint.empty() || *from > run.started->steps_completed);
}

std::vector<RunPhases> run_phases(history::TrialRecord const& trial, std::span<RunReports const> reports) {
    std::vector<RunReports> all(reports.begin(), reports.end());
    all.resize(trial.runs.size());
    auto const checkpoints = index_checkpoints(all);
    bool const reports_steps = std::ranges::any_of(all, has_reported);
    std::vector<RunPhases> phases;
    for (std::size_t i = 0; i < trial.runs.size(); ++i) {
        auto const& run = trial.runs[i];
        if (!run.started) continue;
        RunPhases found;
        found.trial = trial.id;
        found.run = static_cast<std::uint32_t>(i);
        found.begun = run.started->time;
        if (run.ended) {
            found.ended = run.ended->time;
            found.cause = run.ended->cause_name();
        }
        found.start_cause = start_cause(i, trial.runs);
        found.trained = reports_steps ? training_began(all[i]) : found.begun;
        found.saves = saves_of(all[i]);
        found.lost_as = lost_as(run.ended);
        if (reports_steps) {
            found.kept_until = kept_until(i, trial.runs, all, checkpoints);
        } else if (run.ended && found.lost_as == Use::redone && !keeps_all(run.ended->cause)) {
            found.kept_until = found.begun;
        }
        phases.push_back(std::move(found));
    }
    return phases;
}

}  // namespace det::tracker::usage
