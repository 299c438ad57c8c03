#include "round.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <thread>

namespace det::faults {
namespace {

using namespace std::chrono_literals;
using Time = std::chrono::steady_clock::time_point;

constexpr auto wait_limit = 240s;  // a node that was cut off at the wrong moment costs Slurm two minutes
constexpr std::size_t faults_max = 4;
constexpr std::size_t failures_allowed =
    2;  // in a row without progress: one more and the supervisor gives up
constexpr std::uint64_t steps_max = 20;

std::string_view to_string(Moment moment) {
    constexpr std::string_view names[] = {"at its start", "while it restores", "while it trains",
                                          "while it saves", "once it has saved"};
    return names[static_cast<std::size_t>(moment)];
}

std::size_t delay_max_ms(Moment moment) {
    constexpr std::size_t delays[] = {1000, 40, 50, 30, 200};
    return delays[static_cast<std::size_t>(moment)];
}

}  // namespace

Round::Round(Training& training, std::uint32_t seed) : training_(training), random_(seed) {
    if (seed != 0) plan_faults();
}

std::size_t Round::pick(std::size_t below) {
    return std::uniform_int_distribution<std::size_t>(0, below - 1)(random_);
}

void Round::plan_faults() {
    auto const faults = all_faults();
    auto const count = 1 + pick(faults_max);
    std::size_t failures = 0;
    while (plans_.size() < count) {
        auto const& fault = faults[pick(faults.size())];
        auto const moment = choose_moment(failures);
        failures = fault.aftermath == Aftermath::fails ? failures + 1 : 0;
        if (moment == Moment::saved) failures = 1;
        plans_.push_back(
            {&fault, moment, 1 + pick(steps_max), std::chrono::milliseconds(pick(1 + delay_max_ms(moment)))});
    }
}

Moment Round::choose_moment(std::size_t failures_before) {
    auto const moment = static_cast<Moment>(pick(static_cast<std::size_t>(Moment::saved)));
    return failures_before >= failures_allowed ? Moment::saved : moment;
}

std::string Round::description() const {
    std::string text;
    for (auto const& plan : plans_)
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", plan.fault->name, to_string(plan.moment));
    return text + fmt::format(" ({} of {} injected)", injected_, plans_.size());
}

Status Round::play() {
    for (auto const& plan : plans_) {
        unfinished_ = training_.unfinished_checkpoints();
        DET_TRY_ASSIGN(bool const reached,
                       wait_for(to_string(plan.moment), [&] { return is_reached(plan); }));
        if (!reached) return Ok{};
        std::this_thread::sleep_for(plan.delay);
        DET_TRY_ASSIGN(auto const runs, training_.runs());
        DET_TRY(plan.fault->inject(training_, random_));
        ++injected_;
        run_ = plan.fault->aftermath == Aftermath::continues ? runs.size() - 1 : runs.size();
    }
    DET_TRY_ASSIGN(bool const never, wait_for("its end", [] { return Result(false); }));
    static_cast<void>(never);
    return Ok{};
}

Result<bool> Round::wait_for(std::string_view what, std::function<Result<bool>()> const& condition) {
    auto const deadline = std::chrono::steady_clock::now() + wait_limit;
    auto next_check = std::chrono::steady_clock::now() + 1s;
    while (std::chrono::steady_clock::now() < deadline) {
        DET_TRY_ASSIGN(bool const reached, condition());
        if (reached) return true;
        DET_TRY_ASSIGN(bool const ended, has_ended());
        if (ended) return false;
        if (std::chrono::steady_clock::now() > next_check) {
            DET_TRY(activate_if_interrupted());
            next_check = std::chrono::steady_clock::now() + 1s;
        }
        std::this_thread::sleep_for(5ms);
    }
    return Error{codes::internal, fmt::format("timed out waiting for: {}", what)};
}

Result<bool> Round::is_reached(Plan const& plan) {
    DET_TRY_ASSIGN(auto const runs, training_.runs());
    if (runs.size() <= run_ || !runs.back().started || runs.back().ended) return false;
    if (plan.moment == Moment::start_up) return true;
    auto const number = static_cast<std::uint32_t>(runs.size() - 1);
    auto const trace = training_.trace();
    auto const found = trace.find(number);
    if (found == trace.end()) return false;
    auto const& run = found->second;
    if (plan.moment == Moment::restoring) return run.is_restoring;
    if (!run.resumed_at) return false;
    if (plan.moment == Moment::training) return run.last_step >= *run.resumed_at + plan.steps;
    if (plan.moment == Moment::saved) {
        DET_TRY_ASSIGN(auto const reports, training_.reports(number));
        return std::ranges::any_of(
            reports, [](auto const& record) { return std::holds_alternative<CheckpointCommitted>(record); });
    }
    auto const now = training_.unfinished_checkpoints();
    return std::ranges::any_of(now, [&](auto const& uuid) { return !unfinished_.contains(uuid); });
}

Result<bool> Round::has_ended() {
    DET_TRY_ASSIGN(auto const runs, training_.runs());
    if (runs.size() <= continued_runs_ || !runs.back().ended) return false;
    if (runs.back().ended->next_action != NextAction::stop) return false;
    DET_TRY_ASSIGN(auto const state, training_.state());
    if (state == "CANCELED") {
        DET_TRY(training_.command("continue"));
        run_ = continued_runs_ = runs.size();
    }
    return state == "COMPLETED" || state == "ERROR";
}

/// Does what a user would do with an interrupted experiment.
Status Round::activate_if_interrupted() {
    if (!training_.supervisors().empty()) return Ok{};
    DET_TRY_ASSIGN(auto const state, training_.state());
    return state == "INTERRUPTED" ? training_.command("activate") : Ok{};
}

}  // namespace det::faults
