#pragma once
#include <det/journal/best_validation.hpp>
#include <det/protocol/directory_layout.hpp>
#include <det/protocol/experiment_spec.hpp>
#include <det/sampler/decision.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace det::sampler {

/// How far a trial is.
enum class TrialProgress : std::uint8_t {
    running,    // or it waits to run again
    completed,  // its program has finished
    stopped,    // the search has ended it
    failed,
    canceled,  // by the user
    invalid,   // its program has called the hyperparameters invalid
    waiting,   // it has trained as far as the sampler wants so far (searcher.sets_lengths)
};
std::string_view to_string(TrialProgress progress);
/// Whether the trial trains no more.
constexpr bool has_ended(TrialProgress progress) {
    return progress != TrialProgress::running && progress != TrialProgress::waiting;
}

/// A trial as the request to the sampler describes it.
struct TrialReport {
    std::uint32_t trial = 0;
    JsonValue hyperparameters;
    TrialProgress progress = TrialProgress::running;
    std::vector<journal::ValidationValue> validations = {};  // of the searcher's metric
    JsonValue last_validation = {};  // all numbers of the last validation, by their names; an empty object
    std::optional<JsonValue> note = {};  // of the sampler
    std::uint64_t waits = 0;             // how many of its runs have ended as TrialProgress::waiting
    std::string unreadable = {};  // why its journals can't be read: it has no validations; usually empty
};

/// Which trials are told without validations, and why, in one line; empty if there are none.
std::string describe_unreadable(std::span<TrialReport const> trials);

/// Reads what the trials with recorded hyperparameters have reported, in the order in which they began.
/// \param known reports of an earlier call. Trials that had ended then are not read again
/// \return errors of the file system that may pass. A trial whose journals can't be read otherwise has
///     TrialReport::unreadable
Result<std::vector<TrialReport>> load_trial_reports(ExperimentLayout const& experiment,
                                                    ExperimentSpec const& spec, Decisions const& decisions,
                                                    std::vector<TrialReport> known = {});

}  // namespace det::sampler
