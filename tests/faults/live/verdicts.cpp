#include "verdicts.hpp"

#include <det/foundation/text.hpp>

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <thread>

namespace det::faults {
namespace {

using namespace std::chrono_literals;
using tracker::history::RunReports;

constexpr std::string_view not_tried = "not tried";

bool is_end_of(std::string_view causes, std::string_view cause) {
    auto const all = split(causes, ' ');
    return std::ranges::find(all, cause) != all.end();
}

/// The reports of a trial that count, by step.
std::map<std::uint64_t, std::string> kept_reports(TrainingKind const& kind,
                                                  std::vector<RunReports> const& runs) {
    std::map<std::uint64_t, std::string> kept;
    for (auto const& run : runs)
        for (auto const& report : run.metrics)
            if (report.group == kind.reports && !run.is_superseded(report))
                kept[report.steps_completed] = to_line(*report.metrics);
    return kept;
}

/// Whether each run begins where the newest checkpoint of the runs before it ends.
std::string check_resumed_steps(TrainingKind const& kind, std::uint32_t trial,
                                Observation const& observation) {
    std::uint64_t committed = 0;
    auto const& views = observation.final.record.trials[trial].runs;
    auto const& runs = observation.final.reports[trial];
    for (std::size_t run = 0; run < runs.size() && run < views.size(); ++run) {
        auto const from_checkpoint = views[run].started ? views[run].started->steps_completed : committed;
        // A state in memory is newer than the checkpoint.
        auto const resumed = std::max(from_checkpoint, runs[run].beginning.resumed_from.value_or(0));
        if (resumed < committed)
            return fmt::format("run {}.{} resumed at step {}, and {} was committed", trial, run, resumed,
                               committed);
        auto const first = runs[run].beginning.first_steps.find(kind.reports);
        if (first != runs[run].beginning.first_steps.end() &&
            (first->second <= resumed || first->second > resumed + kind.report_interval))
            return fmt::format("run {}.{} resumed at step {}, and first reported step {}", trial, run,
                               resumed, first->second);
        for (auto const& checkpoint : runs[run].checkpoints)
            committed = std::max(committed, checkpoint.steps_completed);
    }
    return "";
}

/// The same of a batch script, which saves its own file after each fifth step.
std::string check_script_steps(Observation const& observation) {
    constexpr std::uint64_t steps_between_saves = 5;
    std::uint64_t saved = 0;
    for (auto const& [number, run] : observation.trace) {
        if (run.resumed && (*run.resumed < saved || *run.resumed > saved + steps_between_saves))
            return fmt::format("run {} resumed at step {}, and {} was saved", number, *run.resumed, saved);
        // A program whose save succeeds and seems to fail does not trace it.
        saved = std::max({saved, run.saved.value_or(0), run.resumed.value_or(0)});
    }
    return "";
}

/// Whether each step has a report, without a gap; up to the last step of the training if it has completed.
std::string check_coverage(TrainingKind const& kind, Ending ending, std::uint32_t trial,
                           std::map<std::uint64_t, std::string> const& kept) {
    std::uint64_t expected = 0;
    for (auto const& [step, metrics] : kept) {
        if (step % kind.report_interval != 0) continue;
        expected += kind.report_interval;
        if (step != expected)
            return fmt::format("trial {} has no report of step {}, but one of step {}", trial, expected,
                               step);
    }
    if (ending == Ending::completed && !kind.is_search && expected != kind.steps)
        return fmt::format("the last report of trial {} is that of step {}", trial, expected);
    return "";
}

std::string check_steps(TrainingKind const& kind, Ending ending, Observation const& observation) {
    if (kind.is_batch_script) return check_script_steps(observation);
    for (std::uint32_t trial = 0; trial < observation.final.reports.size(); ++trial) {
        if (auto lost = check_resumed_steps(kind, trial, observation); !lost.empty()) return lost;
        auto const kept = kept_reports(kind, observation.final.reports[trial]);
        if (auto gap = check_coverage(kind, ending, trial, kept); !gap.empty()) return gap;
    }
    return "";
}

/// Whether all reports that were visible once are in the journals at the end.
std::string check_metrics(Observation const& observation) {
    auto const final = reports_of(observation.final);
    for (auto const& report : observation.seen) {
        if (final.contains(report)) continue;
        auto const& [trial, run, group, step, metrics] = report;
        return fmt::format("the {} metrics of step {} of run {}.{} have vanished or changed: {}", group, step,
                           trial, run, metrics);
    }
    for (auto const& trial : observation.final.reports)
        for (auto const& run : trial)
            if (run.dropped_reports > 0) return fmt::format("{} reports were dropped", run.dropped_reports);
    return "";
}

/// A trial of the search reports `floor + 1 / epoch`.
std::string check_search_result(Observation const& observation) {
    for (std::uint32_t trial = 0; trial < observation.final.reports.size(); ++trial) {
        double floor = 0;
        for (auto const& run : observation.final.reports[trial])
            for (auto const& report : run.metrics) {
                if (report.group != "validation") continue;
                auto const loss = report.metrics->at("loss").get<double>();
                auto const own_floor = loss - 1.0 / static_cast<double>(report.steps_completed);
                if (floor == 0) floor = own_floor;
                constexpr double rounding = 1e-12;
                if (std::abs(floor - own_floor) > rounding)
                    return fmt::format("trial {} reports {} at step {}", trial, loss, report.steps_completed);
            }
    }
    return "";
}

/// Whether the final state equals that of an undisturbed run.
std::string check_result(RoundPlan const& plan, Observation const& observation, Reference const& reference) {
    auto const& kind = *plan.kind;
    if (kind.is_search) return check_search_result(observation);
    bool const completed = plan.fault == nullptr || plan.fault->ending == Ending::completed;
    if (kind.is_batch_script) {
        std::uint64_t last = 0;
        for (auto const& [number, run] : observation.trace) last = std::max(last, run.saved.value_or(0));
        return completed && last != kind.steps ? fmt::format("it ended at step {}", last) : "";
    }
    if (observation.final.reports.empty()) return completed ? "there is no trial" : "";
    for (auto const& [step, metrics] : kept_reports(kind, observation.final.reports.front())) {
        auto const expected = reference.reports.find(step);
        if (expected != reference.reports.end() && expected->second != metrics)
            return fmt::format("step {} has {} instead of {}", step, metrics, expected->second);
    }
    for (auto const& [number, run] : observation.trace)
        if (!run.weights.empty() && run.weights != reference.weights)
            return fmt::format("run {} has weights {} instead of {}", number, run.weights, reference.weights);
    return "";
}

std::string recorded_cause(Observation const& observation) {
    auto const& target = *observation.target;
    auto const& runs = observation.final.record.trials.at(target.trial).runs;
    if (target.run >= runs.size()) return "no such run";
    return runs[target.run].ended ? std::string(runs[target.run].ended->cause_name()) : "none";
}

/// Whether the run had ended before the fault came.
bool came_too_late(RoundPlan const& plan, Observation const& observation) {
    auto const& target = *observation.target;
    if (plan.fault->seam == Seam::clock || target.trial >= observation.final.record.trials.size())
        return false;
    auto const& runs = observation.final.record.trials[target.trial].runs;
    return target.run < runs.size() && runs[target.run].ended &&
           runs[target.run].ended->time < observation.injected_at;
}

/// Whether the search had decided to end the trial, which takes precedence over what happens at the same
/// time.
bool has_search_ended(Observation const& observation) {
    auto const& target = *observation.target;
    auto const& runs = observation.final.record.trials.at(target.trial).runs;
    if (target.run >= runs.size() || runs[target.run].decisions.empty()) return false;
    auto const& run = runs[target.run];
    return run.decisions.back().decision != "advance" && run.ended &&
           run.ended->cause_name() == "stopped-by-search";
}

std::string check_cause(RoundPlan const& plan, Observation const& observation) {
    if (plan.fault == nullptr || !observation.injected || !observation.target ||
        came_too_late(plan, observation))
        return std::string(not_tried);
    auto const cause = recorded_cause(observation);
    if (is_end_of(plan.fault->causes, cause) || has_search_ended(observation)) return "";
    return fmt::format("run {}.{} has the cause {} instead of {}", observation.target->trial,
                       observation.target->run, cause, plan.fault->causes);
}

std::string check_state(RoundPlan const& plan, Observation const& observation) {
    bool const is_canceled = plan.fault != nullptr && plan.fault->ending == Ending::canceled;
    auto const* const expected = is_canceled ? "CANCELED" : "COMPLETED";
    if (observation.state == expected) return "";
    return fmt::format("the experiment is {}", observation.state);
}

/// Whether a run began after the experiment had ended, or a job of it is still in the queue.
std::string check_resurrection(Observation const& observation) {
    std::size_t runs = 0;
    for (auto const& trial : observation.final.record.trials) runs += trial.runs.size();
    if (runs > observation.runs_at_end && observation.hang.empty())
        return fmt::format("{} runs began after the end", runs - observation.runs_at_end);
    return "";
}

/// A job's time with its nodes, as the books of one side have it. Seconds since 1970.
struct Booked {
    std::string job;
    std::int64_t started = 0, ended = 0, nodes = 0;
};

Result<std::vector<Booked>> read_own_books(LiveTraining const& training) {
    DET_TRY_ASSIGN(auto const text, training.run_command("experiment report 1 --json"));
    auto const report = try_parse_json(text);
    return decode_json("experiment report", [&] {
        std::vector<Booked> booked;
        auto const seconds = [](Json const& time) {
            constexpr std::int64_t second_us = 1'000'000;
            return time.is_string()
                       ? parse_utc(time.get<std::string>()).value_or(UtcTime{}).microseconds / second_us
                       : 0;
        };
        for (auto const& each : report.at("allocations"))
            booked.push_back({each.at("job").get<std::string>(), seconds(each.at("started")),
                              seconds(each.at("ended")), each.at("nodes").get<std::int64_t>()});
        return booked;
    });
}

Result<std::vector<Booked>> read_slurm_books(LiveTraining const& training, Snapshot const& snapshot) {
    std::string jobs;
    for (auto const& array : snapshot.record.arrays())
        jobs += fmt::format("{}{}", jobs.empty() ? "" : ",", array.job);
    DET_TRY_ASSIGN(
        auto const text,
        training.shell("SLURM_TIME_FORMAT=%s sacct -D -X -nP --format=JobID,Start,End,NNodes --jobs=" +
                       jobs));
    std::vector<Booked> booked;
    for (auto const line : split_lines(text)) {
        auto const fields = split(line, '|');
        if (fields.size() < 4) continue;
        // An execution that was requeued soon may have no start ("None"), and one that runs has no end.
        auto const started = parse_integer<std::int64_t>(fields[1]).value_or(0);
        auto const ended = parse_integer<std::int64_t>(fields[2]).value_or(0);
        if (started == 0 && ended == 0) continue;
        booked.push_back(
            {std::string(fields[0]), started, ended, parse_integer<std::int64_t>(fields[3]).value_or(0)});
    }
    return booked;
}

/// Compares the books to 1 s. The report may lack rows of less than two seconds: no supervisor has begun
/// then.
std::string compare_books(std::vector<Booked> const& own, std::vector<Booked> slurm) {
    for (auto const& each : own) {
        auto const found = std::ranges::find_if(slurm, [&](auto const& row) {
            if (row.job != each.job) return false;
            return row.started > 0 ? std::abs(row.started - each.started) <= 1
                                   : std::abs(row.ended - each.ended) <= 1;
        });
        bool const is_short = each.ended - each.started < 3;
        if (found == slurm.end() && is_short) continue;
        if (found == slurm.end())
            return fmt::format("Slurm has no start of job {} at {}", each.job, each.started);
        if (found->ended == 0)
            return fmt::format("Slurm has no end of job {}, started at {}", each.job, each.started);
        if (std::abs(found->ended - each.ended) > 1)
            return fmt::format("job {}, started at {}, ended {} s later in the report than for Slurm",
                               each.job, each.started, each.ended - found->ended);
        if (found->nodes != each.nodes)
            return fmt::format("job {} had {} nodes, and {} for Slurm", each.job, each.nodes, found->nodes);
        slurm.erase(found);
    }
    std::erase_if(slurm, [](auto const& each) { return each.started == 0 || each.ended - each.started < 2; });
    if (slurm.empty()) return "";
    return fmt::format("the report lacks {} s of job {} from {} on", slurm[0].ended - slurm[0].started,
                       slurm[0].job, slurm[0].started);
}

/// Slurm's accounting learns of a job's end later than its user.
std::string check_books(LiveTraining const& training, Snapshot const& snapshot) {
    std::string difference;
    for (auto const deadline = std::chrono::steady_clock::now() + 15s;
         std::chrono::steady_clock::now() < deadline; std::this_thread::sleep_for(1s)) {
        auto const own = read_own_books(training);
        auto const slurm = read_slurm_books(training, snapshot);
        if (!own || !slurm) return own ? slurm.error().message : own.error().message;
        difference = compare_books(*own, *slurm);
        if (difference.empty()) break;
    }
    return difference;
}

}  // namespace

Reference reference_of(TrainingKind const& kind, Observation const& observation) {
    Reference reference;
    if (!observation.final.reports.empty())
        reference.reports = kept_reports(kind, observation.final.reports.front());
    for (auto const& [number, run] : observation.trace) reference.weights = run.weights;
    return reference;
}

std::string describe_causes(Observation const& observation) {
    std::string text;
    for (std::uint32_t trial = 0; trial < observation.final.record.trials.size(); ++trial) {
        auto const& runs = observation.final.record.trials[trial].runs;
        for (std::size_t run = 0; run < runs.size(); ++run)
            text += fmt::format("{}{}.{} {}", text.empty() ? "" : ", ", trial, run,
                                runs[run].ended ? runs[run].ended->cause_name() : "none");
    }
    return text;
}

std::map<std::string, std::string> judge_round(LiveTraining const& training, RoundPlan const& plan,
                                               Observation const& observation, Reference const& reference,
                                               bool has_accounting) {
    auto const ending = plan.fault == nullptr ? Ending::completed : plan.fault->ending;
    return {{"hang", observation.hang},
            {"state", check_state(plan, observation)},
            {"steps", check_steps(*plan.kind, ending, observation)},
            {"metrics", check_metrics(observation)},
            {"result", check_result(plan, observation, reference)},
            {"cause", check_cause(plan, observation)},
            {"resurrected", check_resurrection(observation)},
            {"remaining", observation.remaining},
            {"books", has_accounting ? check_books(training, observation.final) : std::string(not_tried)}};
}

}  // namespace det::faults
