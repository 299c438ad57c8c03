#include "output/first_failure.hpp"

#include <det/journal/reader.hpp>

#include "output/trial_text.hpp"

namespace det::cli {

std::optional<RankFailure> first_failure(ExperimentLayout const& experiment, RunId run,
                                         Session const& session) {
    auto ends = journal::load_rank_failures(experiment.trial(run.trial.index).run(run.number));
    if (ends) return first_to_fail(*ends);
    session.warn(std::move(ends).error().while_doing("looking for the rank that failed first"));
    return std::nullopt;
}

std::string last_failure_text(ExperimentLayout const& experiment, tracker::history::TrialView const& trial,
                              std::size_t lines_max, Session const& session) {
    auto const& runs = trial.record.runs;
    if (runs.empty()) return "";
    auto const& ended = runs.back().ended;
    if (ended && ended->cause != Cause::failed) return "";
    RunId const run{trial.record.id, static_cast<std::uint32_t>(runs.size() - 1)};
    auto const failure = first_failure(experiment, run, session);
    return failure ? failure_text(run, *failure, lines_max) : "";
}

}  // namespace det::cli
