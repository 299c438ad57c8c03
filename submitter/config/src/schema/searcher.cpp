#include "../check.hpp"
#include "assign.hpp"
#include "effects.hpp"
#include "tables.hpp"

namespace det::config::schema {
namespace {

constexpr std::string_view mode_choices[] = {"aggressive", "standard", "conservative"};
constinit Type const asha_mode = choice_of(mode_choices);
constinit Type const bracket_rungs{.shape = Shape::list, .item = &integer, .merge = Merge::atomic};
constinit Type const above_one{.shape = Shape::number, .exclusive_minimum = 1};

constexpr std::string_view concurrent_help = "number of trials that run at the same time; 0: no limit";
constexpr std::string_view length_help = "the length of one trial's training; training code asks for it";
constexpr std::string_view time_metric_help =
    "the metric that measures the training length, for max_time; batches, records and epochs need not be "
    "reported";
constexpr std::string_view time_help = "the length of one trial's training, in time_metric";
constexpr std::string_view divisor_help = "1/divisor of the trials continue at each rung";

constexpr Effect length_effect = by_training_code(
    "core_context.searcher, det_searcher_*: how long to train; the rungs of adaptive searches");
constexpr Effect trials_effect = by_det_submit("the number of trials");
constexpr Effect concurrent_effect = by_det_submit("the number of tasks of the job array that run at once");
constexpr Effect divisor_effect = by_det_submit("the share of trials that a rung keeps");
constexpr Effect stop_once_effect = by_det_submit("a stopped trial never continues", if_not_once);
constexpr Effect time_metric_effect = by_det_submit("the metric that measures the training length");
constexpr Effect time_effect = by_det_submit("the training length of the last rung");

constexpr Key searcher_common_keys[] = {
    required_when_merged({"name", text, "", "single, random, grid, adaptive_asha or custom",
                          into<&Searcher::name>,
                          by_det_submit("the search method and so the number of trials")}),
    required_when_merged({"metric", text, "", "the validation metric that ranks trials",
                          into<&Searcher::metric>,
                          by_det_submit("the metric of rungs, best checkpoints and reports")}),
    {"smaller_is_better", boolean, "true", "false: the largest metric is best",
     into<&Searcher::smaller_is_better>, by_det_submit("which of two metrics is better")},
    {"source_trial_id", integer, "", "start from the latest checkpoint of this trial",
     into<&Searcher::source_trial_id>,
     by_det_submit("ClusterInfo: latest_checkpoint of a trial that has none of its own")},
    {"source_checkpoint_uuid", text, "", "start from this checkpoint",
     into<&Searcher::source_checkpoint_uuid>,
     by_det_submit("ClusterInfo: latest_checkpoint of a trial that has none of its own")},
};

constexpr Key single_keys[] = {
    {"max_length", max_length, "", length_help, into<&SingleSearch::max_length>, length_effect},
};
constexpr Key random_keys[] = {
    required_when_merged({"max_trials", positive_integer, "", "number of trials",
                          into<&RandomSearch::max_trials>, trials_effect}),
    {"max_concurrent_trials", non_negative_integer, "16", concurrent_help,
     into<&RandomSearch::max_concurrent_trials>, concurrent_effect},
    {"max_length", max_length, "", length_help, into<&RandomSearch::max_length>, length_effect},
};
constexpr Key grid_keys[] = {
    {"max_concurrent_trials", non_negative_integer, "16", concurrent_help,
     into<&GridSearch::max_concurrent_trials>, concurrent_effect},
    {"max_length", max_length, "", length_help, into<&GridSearch::max_length>, length_effect},
};
constexpr Key adaptive_asha_keys[] = {
    required_when_merged({"max_trials", positive_integer, "", "number of trials",
                          into<&AdaptiveAshaSearch::max_trials>, trials_effect}),
    {"max_concurrent_trials", non_negative_integer, "16", concurrent_help,
     into<&AdaptiveAshaSearch::max_concurrent_trials>, concurrent_effect},
    {"mode", asha_mode, "standard", "how early trials are stopped", into<&AdaptiveAshaSearch::mode>,
     by_det_submit("the brackets", if_rungs_are_listed)},
    {"divisor", above_one, "4", divisor_help, into<&AdaptiveAshaSearch::divisor>, divisor_effect},
    {"max_rungs", positive_integer, "5", "number of rungs at which trials are compared",
     into<&AdaptiveAshaSearch::max_rungs>, by_det_submit("the number of rungs", if_rungs_are_listed)},
    {"bracket_rungs", bracket_rungs, "[]", "the rungs of each bracket; empty: chosen by mode",
     into<&AdaptiveAshaSearch::bracket_rungs>, by_det_submit("the rungs of each bracket")},
    {"stop_once", boolean, "", "true: a stopped trial never continues", into<&AdaptiveAshaSearch::stop_once>,
     stop_once_effect},
    {"max_length", max_length, "", length_help, into<&AdaptiveAshaSearch::max_length>, length_effect},
    {"time_metric", text, "", time_metric_help, into<&AdaptiveAshaSearch::time_metric>, time_metric_effect},
    {"max_time", positive_integer, "", time_help, into<&AdaptiveAshaSearch::max_time>, time_effect},
};
constexpr Key async_halving_keys[] = {
    required_when_merged({"num_rungs", positive_integer, "", "number of rungs at which trials are compared",
                          into<&AsyncHalvingSearch::num_rungs>, by_det_submit("the number of rungs")}),
    required_when_merged({"max_trials", positive_integer, "", "number of trials",
                          into<&AsyncHalvingSearch::max_trials>, trials_effect}),
    {"max_concurrent_trials", non_negative_integer, "16", concurrent_help,
     into<&AsyncHalvingSearch::max_concurrent_trials>, concurrent_effect},
    {"divisor", above_one, "4", divisor_help, into<&AsyncHalvingSearch::divisor>, divisor_effect},
    {"stop_once", boolean, "", "true: a stopped trial never continues", into<&AsyncHalvingSearch::stop_once>,
     stop_once_effect},
    {"max_length", max_length, "", length_help, into<&AsyncHalvingSearch::max_length>, length_effect},
    {"time_metric", text, "", time_metric_help, into<&AsyncHalvingSearch::time_metric>, time_metric_effect},
    {"max_time", positive_integer, "", time_help, into<&AsyncHalvingSearch::max_time>, time_effect},
};
constexpr std::string_view unit_choices[] = {"batches", "records", "epochs"};
constinit Type const unit = choice_of(unit_choices);
constexpr Type const* command_alternatives[] = {&text, &text_list};
constinit Type const sampler_command{.shape = Shape::either,
                                     .expected = "a command or a list of its words",
                                     .alternatives = command_alternatives};
constinit Type const answer_timeout = integer_between(1, 3600);
constexpr Key custom_keys[] = {
    {"command", sampler_command, "", "the sampler: the program that chooses hyperparameters", no_field,
     by_det_submit("asked when a trial begins")},
    {"max_trials", positive_integer, "", "number of trials", no_field, trials_effect},
    {"max_concurrent_trials", non_negative_integer, "16", concurrent_help, no_field, concurrent_effect},
    {"max_length", max_length, "", length_help, no_field, length_effect},
    {"answer_timeout", answer_timeout, "", "seconds that the sampler has for an answer; 60 if not set",
     no_field, by_det_submit("the time after which the sampler is killed")},
    {"prune", boolean, "", "true: the sampler is also asked when a trial reports a validation", no_field,
     by_det_submit("the sampler may end trials that run")},
    {"sets_lengths", boolean, "",
     "true: the sampler also says how far each trial trains, and lets trials train on", no_field,
     by_det_submit("tasks claim the trials that the sampler wants to train")},
    {"unit", unit, "", "the unit of training lengths", no_field,
     by_det_submit("passed to the sampler, as all other keys of the searcher")},
};

// Searchers of old experiments. Determined reads their configurations but no longer runs them.
constexpr Key adaptive_keys[] = {
    required_when_merged({"budget", length, "", "the total training length of all trials"}),
    {"bracket_rungs", bracket_rungs, "[]", "the rungs of each bracket"},
    {"mode", asha_mode, "standard", "how early trials are stopped"},
    {"divisor", above_one, "4", divisor_help},
    {"max_rungs", positive_integer, "5", "number of rungs at which trials are compared"},
    {"max_length", max_length, "", length_help},
    {"train_stragglers", boolean, "true", "also train trials that finish late"},
};
constinit Type const trials_to_2000 = integer_between(1, 2000);
constexpr Key adaptive_simple_keys[] = {
    required_when_merged({"max_trials", trials_to_2000, "", "number of trials"}),
    {"mode", asha_mode, "standard", "how early trials are stopped"},
    {"divisor", above_one, "4", divisor_help},
    {"max_rungs", positive_integer, "5", "number of rungs at which trials are compared"},
    {"max_length", max_length, "", length_help},
};
constexpr Key sync_halving_keys[] = {
    required_when_merged({"num_rungs", positive_integer, "", "number of rungs at which trials are compared"}),
    required_when_merged({"budget", length, "", "the total training length of all trials"}),
    {"max_length", max_length, "", length_help},
    {"divisor", above_one, "4", divisor_help},
    {"train_stragglers", boolean, "true", "also train trials that finish late"},
};

template <class Alternative>
constexpr auto into_search_method = into_variant<&Searcher::method, Alternative>;

constexpr Member searcher_members[] = {
    {"single", single_keys, into_search_method<SingleSearch>},
    {"random", random_keys, into_search_method<RandomSearch>},
    {"grid", grid_keys, into_search_method<GridSearch>},
    {"adaptive_asha", adaptive_asha_keys, into_search_method<AdaptiveAshaSearch>},
    {"async_halving", async_halving_keys, into_search_method<AsyncHalvingSearch>},
    {.name = "custom", .keys = custom_keys, .allows_other_keys = true},
    {"adaptive", adaptive_keys, nullptr, "use 'adaptive_asha'"},
    {"adaptive_simple", adaptive_simple_keys, nullptr, "use 'adaptive_asha'"},
    {"sync_halving", sync_halving_keys, nullptr, "use 'async_halving'"},
};

bool has(yaml::Node const& value, std::string_view key) {
    auto const* found = value.find(key);
    return found != nullptr && !found->is_null();
}

void require_end_of_training(yaml::Node const& value, std::string_view name, Path const& path,
                             Checker& checker) {
    bool const is_asha = name == "adaptive_asha" || name == "async_halving";
    bool const has_end = has(value, "max_length") || (has(value, "time_metric") && has(value, "max_time"));
    if (!is_asha || has_end) return;
    checker.refuse(codes::missing_key, path.text() + " does not say how long a trial trains",
                   "add 'max_length: {batches: ...}', or 'time_metric: ...' and 'max_time: ...'",
                   value.location());
}

void require_one_source(yaml::Node const& value, Path const& path, Checker& checker) {
    if (!has(value, "source_trial_id") || !has(value, "source_checkpoint_uuid")) return;
    checker.refuse_value(*value.find("source_checkpoint_uuid"),
                         path.text() + ": source_trial_id and source_checkpoint_uuid must not both be set",
                         "remove one of them");
}

/// Determined's searches of the user's own ask a server. Here they ask a program.
void require_sampler(yaml::Node const& value, Path const& path, Checker& checker) {
    if (!has(value, "command")) {
        checker.refuse(
            codes::missing_key,
            path.text() + " 'custom' is no longer supported without a sampler: 'command' is missing",
            "add 'command: [python3, sampler.py]', the program that chooses hyperparameters",
            value.location());
        return;
    }
    auto const& command = *value.find("command");
    bool const is_empty = command.is_text() ? command.text()->empty() : command.items().empty();
    if (is_empty) checker.refuse_value(command, path.text() + ".command names no program");
    if (!has(value, "max_trials"))
        checker.refuse(codes::missing_key, "'max_trials' is missing in " + path.text(),
                       "add 'max_trials: ...': number of trials", value.location());
}

/// Determined's schema accepts both sources together and a missing training length; creation does not.
void check_searcher(yaml::Node const& value, Path const& path, Checker& checker) {
    if (!checker.is_for_creation()) return;
    require_one_source(value, path, checker);
    auto const* member = find_member(searcher, value);
    if (member == nullptr) return;
    require_end_of_training(value, member->name, path, checker);
    if (member->name == "custom") require_sampler(value, path, checker);
}

}  // namespace

constinit Type const searcher{.shape = Shape::tagged_union,
                              .keys = searcher_common_keys,
                              .members = searcher_members,
                              .tag = "name",
                              .rule = check_searcher};

}  // namespace det::config::schema
