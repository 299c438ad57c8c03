#include "tidy_up.hpp"

#include <det/checkpoint/storage/open_store.hpp>
#include <det/journal/event_log.hpp>
#include <det/launch/supervisor/resume_point.hpp>
#include <det/retention/collect_garbage.hpp>

#include <fmt/format.h>

namespace det::launch::supervisor {
namespace {

/// From the last one on: the first that goes on answers for all.
Result<bool> are_all_over(ExperimentLayout const& experiment, ExperimentSpec const& spec) {
    for (auto trial = spec.trial_count; trial-- > 0;) {
        DET_TRY_ASSIGN(bool const is_over, has_ended(experiment.trial(trial), spec.first_run_of(trial)));
        if (!is_over) return false;
    }
    return true;
}

Status collect(Assignment const& assignment, Surroundings const& around) {
    // As it is now: it may have been continued since this job began.
    DET_TRY_ASSIGN(auto const spec, retention::load_spec(assignment.experiment));
    DET_TRY_ASSIGN(bool const is_over, are_all_over(assignment.experiment, spec));
    if (!is_over) return Ok{};
    DET_TRY_ASSIGN(auto const events, journal::load_events(assignment.experiment.events()));
    DET_TRY_ASSIGN(auto const store, checkpoint::storage::open_store(spec, around.environment));
    retention::GcOptions const options{retention::policy_of(spec, events), around.clock.now()};
    DET_TRY_ASSIGN(auto const report,
                   retention::collect_garbage(RootLayout(spec.root), assignment.experiment, *store, options));
    if (!report.removed.empty())
        around.say(
            fmt::format("{} checkpoints were removed, {} stay", report.removed.size(), report.kept.size()));
    if (!report.remains.empty())
        around.say(fmt::format("the remains of {} checkpoints that were never committed were removed",
                               report.remains.size()));
    for (auto const& failure : report.failures)
        around.say(fmt::format("a checkpoint stays: {}", failure.message));
    return Ok{};
}

}  // namespace

void tidy_up(Assignment const& assignment, Surroundings const& around) {
    auto const done = collect(assignment, around);
    if (!done) around.say(fmt::format("all checkpoints stay: {}", done.error().message));
}

}  // namespace det::launch::supervisor
