#include "live_round.hpp"

#include <det/foundation/text.hpp>
#include <det/protocol/host_list.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <thread>

namespace det::faults {
namespace {

using namespace std::chrono_literals;

constexpr auto moment_limit = 120s;
constexpr auto end_limit = 200s;  // a node that is lost costs Slurm and the supervisor up to two minutes
constexpr auto over_limit = 60s;
constexpr std::uint32_t order_seed = 1;
constexpr std::size_t start_up_percent = 25;

struct Pair {
    TrainingKind const* kind;
    LiveFault const* fault;
};

bool contains_word(std::string_view words, std::string_view word) {
    auto const all = split(words, ' ');
    return std::ranges::find(all, word) != all.end();
}

std::vector<Pair> shuffled_pairs(std::span<LiveFault const> faults) {
    std::vector<Pair> pairs;
    for (auto const& kind : training_kinds())
        for (auto const& fault : faults)
            if (fault.only_kinds.empty() || contains_word(fault.only_kinds, kind.name))
                pairs.push_back({&kind, &fault});
    std::mt19937 random(order_seed);
    std::ranges::shuffle(pairs, random);
    return pairs;
}

/// Those on NFS are last, so that the seeds of the others stay the same.
std::vector<Pair> all_pairs() {
    auto pairs = shuffled_pairs(live_faults());
    auto const on_nfs = shuffled_pairs(nfs_faults());
    pairs.insert(pairs.end(), on_nfs.begin(), on_nfs.end());
    return pairs;
}

bool is_terminal(std::string const& state) {
    return state == "COMPLETED" || state == "CANCELED" || state == "ERROR";
}

/// Whether the supervisors have recorded that all trials have ended.
bool have_all_stopped(Snapshot const& snapshot, std::size_t trials) {
    if (snapshot.record.trials.size() < trials) return false;
    return std::ranges::all_of(snapshot.record.trials, [](auto const& trial) {
        return !trial.runs.empty() && trial.runs.back().ended &&
               trial.runs.back().ended->next_action == NextAction::stop;
    });
}

std::size_t count_runs(Snapshot const& snapshot) {
    std::size_t count = 0;
    for (auto const& trial : snapshot.record.trials) count += trial.runs.size();
    return count;
}

}  // namespace

RoundPlan plan_undisturbed(TrainingKind const& kind) { return {0, &kind, nullptr, 0, 0ms}; }

RoundPlan plan_round(std::uint32_t seed) {
    auto const pairs = all_pairs();
    auto const& pair = pairs[seed % pairs.size()];
    std::mt19937 random(seed);
    auto const pick = [&](std::uint64_t below) {
        return std::uniform_int_distribution<std::uint64_t>(0, below - 1)(random);
    };
    RoundPlan plan{seed, pair.kind, pair.fault, 0, 0ms};
    bool const is_at_start =
        pick(100) < start_up_percent || pair.fault->name == "kill slurmctld after a start";
    if (is_at_start && pair.fault->after_start == 0s) {
        plan.delay = std::chrono::milliseconds(pick(1500));
        return plan;
    }
    plan.step = 1 + pick(pair.kind->steps * 6 / 10);
    plan.delay = std::chrono::milliseconds(pick(100));
    return plan;
}

std::string RoundPlan::moment() const {
    return fmt::format("{}+{} ms", step == 0 ? "start" : fmt::format("step {}", step), delay.count());
}

Reports reports_of(Snapshot const& snapshot) {
    Reports reports;
    for (std::uint32_t trial = 0; trial < snapshot.reports.size(); ++trial)
        for (auto const& run : snapshot.reports[trial])
            for (auto const& report : run.metrics)
                reports.emplace(trial, run.run, report.group, report.steps_completed,
                                to_line(*report.metrics));
    return reports;
}

Result<Observation> LiveRound::play() {
    DET_TRY(training_.create());
    if (plan_.fault != nullptr &&
        wait_for("the moment of the fault", moment_limit, [this] { return is_moment_reached(); })) {
        std::this_thread::sleep_for(plan_.delay);
        DET_TRY(inject());
    }
    DET_TRY(error_);
    if (seen_.hang.empty()) wait_for("the end", end_limit, [this] { return has_ended(); });
    DET_TRY(error_);
    if (seen_.hang.empty()) {
        DET_TRY_ASSIGN(auto const at_end, training_.snapshot());
        seen_.runs_at_end = count_runs(at_end);
        // Is not a hang: see the verdicts about jobs and processes.
        if (wait_for("", over_limit, [this] { return is_over(); })) seen_.remaining.clear();
    }
    DET_TRY_ASSIGN(seen_.final, training_.snapshot());
    DET_TRY_ASSIGN(seen_.continued_from_memory, training_.runs_from_memory(seen_.final));
    seen_.trace = training_.trace();
    seen_.notes = training_.notes();
    DET_TRY_ASSIGN(seen_.state, training_.state());
    return std::move(seen_);
}

/// Returns false after the limit, and if the condition fails.
bool LiveRound::wait_for(std::string const& what, std::chrono::seconds limit,
                         std::function<Result<bool>()> const& condition) {
    auto const deadline = std::chrono::steady_clock::now() + limit;
    while (std::chrono::steady_clock::now() < deadline) {
        auto const reached = condition();
        if (!reached) {
            error_ = reached.error();
            return false;
        }
        if (*reached) return true;
        std::this_thread::sleep_for(100ms);
    }
    seen_.hang = what;
    return false;
}

Status LiveRound::observe() {
    DET_TRY_ASSIGN(auto const now, training_.snapshot());
    auto reports = reports_of(now);
    seen_.seen.merge(reports);
    return Ok{};
}

Result<bool> LiveRound::is_moment_reached() {
    DET_TRY_ASSIGN(auto const now, training_.snapshot());
    std::vector<std::uint32_t> candidates;
    for (std::uint32_t trial = 0; trial < now.record.trials.size(); ++trial) {
        auto const& runs = now.record.trials[trial].runs;
        if (runs.empty() || !runs.back().started || runs.back().ended) continue;
        constexpr std::int64_t second_us = 1'000'000;
        auto const age_us = SystemClock().now().microseconds - runs.back().started->time.microseconds;
        if (age_us < plan_.fault->after_start.count() * second_us) continue;
        if (plan_.step > 0) {
            DET_TRY_ASSIGN(auto const last, training_.last_step(trial));
            if (last < plan_.step) continue;
        }
        candidates.push_back(trial);
    }
    if (candidates.empty()) return false;
    auto const trial = candidates[random_() % candidates.size()];
    auto const& runs = now.record.trials[trial].runs;
    auto const& started = *runs.back().started;
    seen_.target =
        FaultTarget{trial, static_cast<std::uint32_t>(runs.size() - 1), started.job,
                    expand_host_list(started.hosts).value_or(std::vector<std::string>()), started.batch_host};
    return true;
}

Status LiveRound::inject() {
    DET_TRY(observe());
    seen_.injected_at = SystemClock().now();
    DET_TRY_ASSIGN(seen_.injected, plan_.fault->inject(training_, *seen_.target, random_));
    return observe();
}

/// Whether the experiment has ended. Activates an experiment that waits for its user.
Result<bool> LiveRound::has_ended() {
    DET_TRY_ASSIGN(auto const now, training_.snapshot());
    auto reports = reports_of(now);
    seen_.seen.merge(reports);
    bool const is_due = std::chrono::steady_clock::now() >= next_query_;
    if (!have_all_stopped(now, training_.kind().trials) && !is_due) return false;
    next_query_ = std::chrono::steady_clock::now() + 4s;
    DET_TRY_ASSIGN(auto const state, training_.state());
    bool const is_held = state == "QUEUED" && training_.is_held().value_or(false);
    if ((state == "INTERRUPTED" || is_held) && training_.processes("det-launch").empty()) {
        ++seen_.activations;
        DET_TRY(training_.run_command("experiment activate 1"));
    }
    return is_terminal(state);
}

/// Whether no process and no job remains.
Result<bool> LiveRound::is_over() {
    seen_.remaining.clear();
    for (auto const& process : training_.processes())
        if (process.program != "det-tracker" && process.program != "det-submit")
            seen_.remaining += fmt::format("{} on {}, ", process.program, process.host);
    if (!seen_.remaining.empty()) return false;
    DET_TRY_ASSIGN(seen_.remaining, training_.queued_jobs());
    return seen_.remaining.empty();
}

}  // namespace det::faults
