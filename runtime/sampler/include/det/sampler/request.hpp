#pragma once
#include <det/protocol/experiment_spec.hpp>
#include <det/sampler/trial_reports.hpp>

#include <span>
#include <string>

namespace det::sampler {

/// What a sampler is asked about.
struct Request {
    Question question = Question::begin;
    std::uint32_t trial = 0;
    friend bool operator==(Request const&, Request const&) = default;
};

/// Renders the lines of a request: the search, its trials in the order in which they began, the question.
/// Pure. A line above line_limit_bytes loses its oldest validations.
/// \param state what the sampler has kept last; nullptr if it has kept nothing
std::string render_request(ExperimentSpec const& spec, std::span<TrialReport const> trials,
                           Request const& request, JsonValue const* state = nullptr);

}  // namespace det::sampler
