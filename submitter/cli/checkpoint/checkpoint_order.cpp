#include "checkpoint/checkpoint_order.hpp"

#include <det/protocol/compare_metrics.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "output/no_such_name.hpp"

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

Status CheckpointOrder::require_metric(tracker::history::History& history,
                                       std::vector<TrialId> const& trials) const {
    std::set<std::string> names;
    std::vector<std::string> ids;
    for (auto const trial : trials) {
        ids.push_back(to_string(trial));
        DET_TRY_ASSIGN(auto const metrics, history.list_metrics(trial));
        for (auto const& [group, metric] : metrics)
            if (group == "validation") names.insert(metric);
    }
    if (!sort_by || names.contains(*sort_by)) return Ok{};
    auto const place = fmt::format("the validations of {}", fmt::join(ids, ", "));
    return no_such_name(codes::no_such_metric, "metric", *sort_by, place, names);
}

void filter_and_sort_by_metric(std::vector<retention::KnownCheckpoint>& checkpoints, bool smaller_is_better) {
    std::erase_if(checkpoints, [](auto const& checkpoint) { return !checkpoint.metric; });
    std::ranges::stable_sort(checkpoints, [&](auto const& a, auto const& b) {
        return is_better(*a.metric, *b.metric, smaller_is_better);
    });
}

}  // namespace det::cli
