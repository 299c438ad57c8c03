#pragma once
#include <det/experiment/open_experiment.hpp>
#include <det/protocol/json.hpp>
#include <det/tracker/history/search_view.hpp>

#include <optional>
#include <string>

#include "output/table.hpp"

namespace det::cli {

/// What `experiment describe --search` shows.
struct SearchDescription {
    std::string text;
    Json json;
};

/// Reads the rungs of an experiment's search and the best validations of its trials. codes::wrong_state if
/// the experiment was not created completely.
Result<SearchDescription> describe_search(experiment::OpenExperiment const& experiment,
                                          AnswerStyle const& style);

/// Reads the rungs of a search that stops trials; nullopt if the searcher stops none.
Result<std::optional<tracker::history::SearchView>> load_search_view(
    tracker::history::ExperimentView const& view, ExperimentSpec const& spec,
    tracker::history::History& history);

}  // namespace det::cli
