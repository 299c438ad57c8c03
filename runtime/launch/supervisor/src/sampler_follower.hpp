#pragma once
#include <det/journal/tail.hpp>
#include <det/launch/supervisor/supervise.hpp>
#include <det/sampler/decision_log.hpp>
#include <det/sampler/program.hpp>
#include <det/sampler/state.hpp>
#include <det/search/space.hpp>

#include <chrono>
#include <optional>
#include <string>

#include "run_record.hpp"

namespace det::launch::supervisor {

/// Follows the sampler's decisions about the trial of one run: sees that it is pruned, and, with
/// searcher.prune, asks the sampler when the trial has reported a validation.
class SamplerFollower {
public:
    /// Requires a search whose hyperparameters a sampler chooses.
    SamplerFollower(BatchJob const& batch_job, SupervisorContext const& context, RunRecord const& record);

    /// Looks for decisions and for the answer to a question. Does not wait for the sampler. A failure of the
    /// sampler is an error, and the trial trains on: it is asked again after the next validation.
    Status follow(RunRecord const& record);
    /// Why the search has ended the trial; empty while it has not.
    std::string const& end() const { return end_; }

private:
    using Time = std::chrono::steady_clock::time_point;

    Status look_for_decisions();
    Status look_for_reports();
    Status ask();
    Status take_answer(RunRecord const& record);

    BatchJob const& batch_job_;
    SupervisorContext const& context_;
    std::uint32_t trial_;
    bool may_ask_;
    search::Space space_;
    journal::JournalTail reports_;
    bool has_reported_ = false;                       // since the last question
    std::optional<sampler::SamplerProgram> program_;  // that is being asked
    sampler::SamplerState asked_from_;                // what it knows
    std::string unreadable_;                          // what was last logged about journals
    Time next_look_at_{}, next_question_at_{};
    std::string end_;
};

}  // namespace det::launch::supervisor
