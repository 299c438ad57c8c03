// What faults cost, and which share of its slot-seconds a training keeps.
//
// The trainings of the campaign are short, and save a checkpoint each few seconds. What a fault costs in time
// without training does not depend on that. What is trained again does: from a checkpoint in the storage on
// average half of the time between two checkpoints, because a fault comes at any moment. So
// summarise_costs() replaces the measured time of steps trained again by half of an interval where a run
// has continued from a checkpoint or from the beginning, and says for which interval. That holds for
// intervals that are short against the time between two faults. What is trained again from a state in memory
// is that of the round: its interval is 10 steps, as in long trainings, but of 0.03 s each.
#include "fault_cost.hpp"

#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "results_file.hpp"

namespace det::faults {
namespace {

constexpr double seconds_between_faults = 1800;  // of the job's time
constexpr std::uint64_t first_fault_step = 60;
// Times between two steps that are no loss: a slow step, or a save that the training waits for.
constexpr double slow_step_s = 0.5;
constexpr double checkpoint_intervals_s[] = {60, 300, 600};

// Requests of users and of Slurm, which take the nodes for another use, and a fault of the start of a run: at
// the later moments of these rounds it is that of "restart slurmctld".
constexpr std::string_view left_out[] = {"preempt", "pause and activate", "preempt and pause", "requeue",
                                         "kill slurmctld after a start"};

bool is_failure(LiveFault const& fault) {
    return fault.ending == Ending::completed && fault.seam != Seam::clock &&
           std::ranges::find(left_out, fault.name) == std::end(left_out);
}

bool can_have(LiveFault const& fault) {
    auto const kinds = split(fault.only_kinds, ' ');
    return fault.only_kinds.empty() || std::ranges::find(kinds, "ddp") != kinds.end();
}

struct CostPair {
    TrainingKind const* kind;
    LiveFault const* fault;
};

std::vector<CostPair> cost_pairs() {
    std::vector<CostPair> pairs;
    for (auto const& fault : live_faults())
        for (auto const& kind : cost_kinds())
            if (is_failure(fault) && can_have(fault)) pairs.push_back({&kind, &fault});
    return pairs;
}

double seconds_between(UtcTime from, UtcTime to) {
    return static_cast<double>(to.microseconds - from.microseconds) / 1e6;
}

struct NewStep {
    std::uint64_t step = 0;
    UtcTime time;
};

/// The steps that no earlier run has reported, in order, and what the runs after `target` trained again.
struct Progress {
    std::vector<NewStep> steps;
    double again_s = 0;
    std::uint64_t again_steps = 0;

    void add(TrainingKind const& kind, tracker::history::RunReports const& run, bool is_after_fault) {
        std::optional<UtcTime> first;
        bool is_new = false;
        for (auto const& report : run.metrics) {
            if (report.group != kind.reports) continue;
            if (!first) first = report.time;
            bool const trains_again = !steps.empty() && report.steps_completed <= steps.back().step;
            if (trains_again) {
                again_steps += is_after_fault ? 1 : 0;
                continue;
            }
            if (!is_new && is_after_fault) again_s += seconds_between(*first, report.time);
            is_new = true;
            steps.push_back({report.steps_completed, report.time});
        }
    }
};

double median_step_s(std::vector<NewStep> const& steps) {
    std::vector<double> times;
    for (std::size_t i = 1; i < steps.size(); ++i)
        times.push_back(seconds_between(steps[i - 1].time, steps[i].time));
    auto const middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::ranges::nth_element(times, middle);
    return *middle;
}

/// Where the first run after the fault that trained began, as it and its supervisor have recorded it.
std::string find_origin(Observation const& observation) {
    auto const& target = *observation.target;
    auto const& runs = observation.final.record.trials.at(target.trial).runs;
    for (auto const& run : observation.final.reports.at(target.trial)) {
        if (run.run <= target.run || run.metrics.empty()) continue;
        if (observation.continued_from_memory.contains({target.trial, run.run})) return "memory";
        bool const is_stored =
            run.run < runs.size() && runs[run.run].started && runs[run.run].started->steps_completed > 0;
        return is_stored ? "checkpoint" : "beginning";
    }
    return "";
}

/// Costs of the rounds of one fault and one kind.
struct Costs {
    int rounds = 0;                   // with a cost
    int without_cost = 0, wrong = 0;  // rounds; `wrong`: a verdict is
    int activated = 0, from_memory = 0, from_storage = 0, went_on = 0;
    double lost_s = 0, again_s = 0, stored_again_s = 0, slots = 0;

    void add(Json const& line) {
        activated += line.value("activations", 0) > 0 ? 1 : 0;
        wrong += has_passed(line) ? 0 : 1;
        if (line.contains("cost"))
            add_cost(line["cost"]);
        else
            ++without_cost;
    }
    double mean_lost_s() const { return rounds > 0 ? lost_s / rounds : 0; }
    /// With checkpoints in the storage each `interval_s` of training.
    double mean_lost_s(double interval_s) const {
        if (rounds == 0) return 0;
        return (lost_s - stored_again_s + from_storage * interval_s / 2) / rounds;
    }

private:
    void add_cost(Json const& cost) {
        auto const from = cost.value("from", "");
        auto const again = cost.value("again_s", 0.0);
        bool const is_stored = from == "checkpoint" || from == "beginning";
        ++rounds;
        from_memory += from == "memory" ? 1 : 0;
        from_storage += is_stored ? 1 : 0;
        went_on += from.empty() ? 1 : 0;
        lost_s += cost.value("lost_s", 0.0);
        again_s += again;
        if (is_stored) stored_again_s += again;
        slots = cost.value("slots", 0.0);
    }
};

using CostsOfFault = std::map<std::string, Costs>;  // by kind of training

std::string render_costs(std::string const& fault, std::string const& kind, Costs const& costs) {
    auto const times = costs.rounds == 0 ? std::string("- | -")
                                         : fmt::format("{:.1f} | {:.1f}", costs.mean_lost_s() * costs.slots,
                                                       costs.again_s * costs.slots / costs.rounds);
    return fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", fault, kind, costs.rounds,
                       costs.without_cost, costs.wrong, times, costs.went_on, costs.from_memory,
                       costs.from_storage, costs.activated);
}

bool needs_user(CostsOfFault const& costs) {
    return std::ranges::any_of(costs, [](auto const& each) { return each.second.activated > 0; });
}

/// The kept share for a kind of training, as text. A fault none of whose rounds has a cost is not in it.
std::string render_kept(std::map<std::string, CostsOfFault> const& faults, std::string const& kind,
                        bool with_user, double interval_s) {
    double lost_s = 0;
    int kinds_of_fault = 0, without_cost = 0;
    for (auto const& [fault, costs] : faults) {
        auto const found = costs.find(kind);
        if (found == costs.end() || (!with_user && needs_user(costs))) continue;
        without_cost += found->second.without_cost;
        if (found->second.rounds == 0) continue;
        ++kinds_of_fault;
        lost_s += interval_s > 0 ? found->second.mean_lost_s(interval_s) : found->second.mean_lost_s();
    }
    if (kinds_of_fault == 0) return "-";
    auto const mean_s = lost_s / kinds_of_fault;
    auto text =
        fmt::format("{:.1f} % ({} of {} kinds, {:.1f} s a fault", 100 * (1 - mean_s / seconds_between_faults),
                    kinds_of_fault, count_cost_pairs() / cost_kinds().size(), mean_s);
    if (without_cost > 0) text += fmt::format("; without {} rounds that have no cost", without_cost);
    return text + ")";
}

std::string render_kept_row(std::map<std::string, CostsOfFault> const& faults, double interval_s) {
    auto text = interval_s > 0 ? fmt::format("| {:.0f} s", interval_s) : std::string("| as measured");
    for (bool const with_user : {true, false})
        for (auto const& kind : cost_kinds())
            text += " | " + render_kept(faults, std::string(kind.name), with_user, interval_s);
    return text + " |\n";
}

}  // namespace

std::optional<FaultCost> measure_cost(RoundPlan const& plan, Observation const& observation) {
    bool const is_measured = plan.fault != nullptr && plan.kind->report_interval == 1 &&
                             plan.kind->trials == 1 && !plan.kind->is_batch_script &&
                             plan.fault->seam != Seam::clock && observation.injected && observation.target;
    if (!is_measured || observation.final.reports.size() != 1) return std::nullopt;
    Progress progress;
    for (auto const& run : observation.final.reports.front())
        progress.add(*plan.kind, run, run.run > observation.target->run);
    auto const& steps = progress.steps;
    constexpr std::size_t steps_min = 10;
    // Steps that never come have no time that could be added.
    bool const is_complete = steps.size() >= steps_min && steps.back().step == plan.kind->steps;
    if (!is_complete || steps.back().time < observation.injected_at) return std::nullopt;
    FaultCost cost{0,
                   progress.again_s,
                   progress.again_steps,
                   median_step_s(steps),
                   find_origin(observation),
                   static_cast<std::uint32_t>(observation.target->hosts.size())};
    for (std::size_t i = 1; i < steps.size(); ++i) {
        auto const gap_s = seconds_between(steps[i - 1].time, steps[i].time);
        bool const is_loss = gap_s > cost.step_s + slow_step_s;
        if (is_loss && observation.injected_at < steps[i].time) cost.lost_s += gap_s - cost.step_s;
    }
    return cost;
}

Json to_json(FaultCost const& cost) {
    auto const round = [](double seconds) { return std::round(seconds * 1000) / 1000; };
    return {{"lost_s", round(cost.lost_s)},
            {"again_s", round(cost.again_s)},
            {"again_steps", cost.again_steps},
            {"step_s", round(cost.step_s)},
            {"from", cost.from},
            {"slots", cost.slots}};
}

std::uint32_t count_cost_pairs() { return static_cast<std::uint32_t>(cost_pairs().size()); }

RoundPlan plan_cost_round(std::uint32_t seed) {
    auto const pairs = cost_pairs();
    auto const& pair = pairs[(seed - cost_seed_begin) % pairs.size()];
    std::mt19937 random(seed);
    auto const pick = [&](std::uint64_t below) {
        return std::uniform_int_distribution<std::uint64_t>(0, below - 1)(random);
    };
    auto const step = first_fault_step + pick(pair.kind->steps * 6 / 10 - first_fault_step);
    return {seed, pair.kind, pair.fault, step, std::chrono::milliseconds(pick(100))};
}

std::string summarise_costs(std::filesystem::path const& results) {
    std::map<std::string, CostsOfFault> faults;
    for (auto const& line : read_rounds(results))
        if (line["seed"].get<std::uint32_t>() >= cost_seed_begin)
            faults[line.value("fault", "")][line.value("kind", "")].add(line);
    std::string text =
        "| fault | training | rounds with a cost | without a cost | wrong verdicts | lost slot-s "
        "| of these trained again | the run went on | from memory | from a checkpoint or the beginning "
        "| needed `activate` |\n|---|---|---|---|---|---|---|---|---|---|---|\n";
    for (auto const& [fault, costs] : faults)
        for (auto const& [kind, each] : costs) text += render_costs(fault, kind, each);
    text += "\n| checkpoint each";
    for (auto const* scope : {"", ", without faults that need a user"})
        for (auto const& kind : cost_kinds()) text += fmt::format(" | {}{}", kind.name, scope);
    text += " |\n|---|---|---|---|---|\n";
    text += render_kept_row(faults, 0);
    for (auto const interval_s : checkpoint_intervals_s) text += render_kept_row(faults, interval_s);
    return text;
}

}  // namespace det::faults
