#pragma once
#include <det/experiment/open_experiment.hpp>
#include <det/protocol/document.hpp>

#include <string>

namespace det::cli {

/// What `experiment describe --search` shows.
struct SearchDescription {
    std::string text;
    Json json;
};

/// Reads the rungs of an experiment's search and the best validations of its trials. codes::wrong_state if
/// the experiment was not created completely.
Result<SearchDescription> describe_search(experiment::OpenExperiment const& experiment);

}  // namespace det::cli
