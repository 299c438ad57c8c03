#pragma once
#include <det/protocol/directory_layout.hpp>
#include <det/protocol/experiment_spec.hpp>
#include <det/sampler/decision.hpp>
#include <det/sampler/request.hpp>
#include <det/search/space.hpp>

#include <functional>
#include <string>

namespace det::sampler {

/// What a process needs to ask the sampler of an experiment.
struct Asker {
    ExperimentLayout experiment;
    ExperimentSpec const& spec;
    std::string job;  // for the record
    std::function<UtcTime()> now;
    /// Starts the sampler with a request and waits for its output.
    std::function<Result<std::string>(std::string const& request)> ask;
    /// Takes the turn to ask: at most one process of the experiment asks, where locks work. Returns whether
    /// it had to wait.
    std::function<bool()> wait_for_turn = [] { return false; };
    /// Called with an error of `ask` or of parse_answer(). Returns whether the sampler is asked again.
    std::function<bool(Error const&)> tries_again = [](auto&) { return false; };
    std::function<void(std::string const&)> log = [](auto&) {};
};

/// What a trial begins with.
struct Beginning {
    Decision decision;       // has hyperparameters, or says why no trial begins
    bool is_pruned = false;  // the search has ended the trial since
};

/// Returns the decision with which a trial begins. If none is recorded, asks the sampler and records its
/// answer before returning it, so that a process that dies afterwards changes nothing. If another process
/// records a decision meanwhile, the answer is dropped, and the sampler is asked again with the newer state.
/// \return errors of the file system, of `ask` and of parse_answer()
Result<Beginning> choose_hyperparameters(Asker const& asker, std::uint32_t trial);

/// With searcher.sets_lengths: asks the sampler what follows after a trial has trained to its length, or has
/// ended without that, and records the answer. Does nothing if the question has been answered.
/// \return errors as choose_hyperparameters()
Status answer_question(Asker const& asker, Request const& request);

}  // namespace det::sampler
