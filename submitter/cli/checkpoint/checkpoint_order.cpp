#include "checkpoint/checkpoint_order.hpp"

#include <det/protocol/compare_metrics.hpp>

#include <algorithm>

namespace det::cli {

void CheckpointOrder::add_options(std::vector<Option>& options) {
    options.push_back({"--sort-by", &sort_by, "the validation metric that decides; default: the searcher's"});
    options.push_back({"--smaller-is-better",
                       &smaller_is_better,
                       "true or false, with --sort-by",
                       Need::optional,
                       {"true", "false", "True", "False"}});
}

Status CheckpointOrder::apply(ExperimentSpec& spec) const {
    if (sort_by.has_value() != smaller_is_better.has_value())
        return Error{codes::usage, "--sort-by and --smaller-is-better belong together", "give both or none"};
    if (!sort_by) return Ok{};
    spec.searcher.metric = *sort_by;
    spec.searcher.smaller_is_better = *smaller_is_better == "true" || *smaller_is_better == "True";
    return Ok{};
}

void filter_and_sort_by_metric(std::vector<retention::KnownCheckpoint>& checkpoints, bool smaller_is_better) {
    std::erase_if(checkpoints, [](auto const& checkpoint) { return !checkpoint.metric; });
    std::ranges::stable_sort(checkpoints, [&](auto const& a, auto const& b) {
        return is_better(*a.metric, *b.metric, smaller_is_better);
    });
}

}  // namespace det::cli
