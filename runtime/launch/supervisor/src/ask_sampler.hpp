#pragma once
#include <det/launch/supervisor/supervise.hpp>
#include <det/sampler/program.hpp>
#include <det/sampler/request.hpp>
#include <det/search/search.hpp>

#include <cstdint>
#include <functional>
#include <string>

namespace det::launch::supervisor {

/// What a trial begins with.
struct TrialBeginning {
    search::TrialDraw draw;
    std::string end = {};      // why the search ends the trial before it begins; empty: it begins
    std::string failure = {};  // why no hyperparameters could be had; empty: they are in `draw`
    bool waits = false;        // the sampler begins no trial now; it may later
};

/// Called several times a second while a question is open: looks after the other trials of the job. Returns
/// false if the job ends, and with it the question.
using Meanwhile = std::function<bool()>;

/// Returns the hyperparameters of a trial. If a sampler chooses them and none are recorded, asks it: this
/// blocks for searcher.answer_timeout at most, three times with a pause of 5 s between if the sampler fails.
/// codes::interrupted if `meanwhile` ends the question; codes::file_system may pass.
Result<TrialBeginning> choose_beginning(BatchJob const& batch_job, SupervisorContext const& context,
                                        std::uint32_t trial, Meanwhile const& meanwhile);

/// With searcher.sets_lengths: asks the sampler what follows after a trial has trained to its length or has
/// ended, and records the answer. Blocks as choose_beginning().
Status ask_what_follows(BatchJob const& batch_job, SupervisorContext const& context,
                        sampler::Request const& request, Meanwhile const& meanwhile);

/// Whether no process of the experiment asks its sampler now for a trial that begins.
bool may_ask_now(BatchJob const& batch_job, SupervisorContext const& context);

/// How the sampler of an experiment is started on this node. Unpacks its code once for the experiment.
Result<sampler::ProgramSettings> prepare_sampler(BatchJob const& batch_job, SupervisorContext const& context);

/// Keeps what the sampler has written to its standard error, when it was asked about a trial. Returns the
/// path of the file; empty if there is nothing, or if it can't be written.
std::string keep_sampler_errors(BatchJob const& batch_job, std::uint32_t trial, std::string const& errors);

}  // namespace det::launch::supervisor
