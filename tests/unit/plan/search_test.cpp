// How a configuration becomes trials: counts, the array, and refused values with their locations.
#include <det/config/layers.hpp>
#include <det/plan/arrays.hpp>
#include <det/plan/plan.hpp>
#include <det/protocol/json.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include "check_result.hpp"
#include "golden.hpp"

using namespace det;
using namespace det::plan;

namespace search_test {

config::ExperimentConfig search_config(std::string const& text) {
    auto const base = must(config::parse_layer(
        "name: example\nentrypoint: ./train\nsearcher: {metric: loss}\n"
        "checkpoint_storage: {type: shared_fs, host_path: /ck}\nreproducibility: {experiment_seed: 42}\n",
        "defaults"));
    auto const written = must(config::parse_layer(text, "exp.yaml"));
    return must(config::read_experiment_config(must(config::merge_layers({{written}, {base}}))));
}

SubmissionPlan plan_of(std::string const& text) {
    slurm::Partition const compute{"compute", true, true, "OFF", {}, {{4, 8, "idle", "gpu:4"}}};
    return must(plan_submission(search_config(text), site::make_site({compute})));
}

std::string refusal_of(std::string const& text) {
    return explain(must_fail(plan_search(search_config(text))));
}

constexpr char axes[] =
    "hyperparameters:\n"
    "  a: {type: int, minval: 1, maxval: 3, count: 3}\n"
    "  b: {type: categorical, vals: [1, 2, 3, 4]}\n"
    "  c: x\n"
    "  d: {e: {type: double, minval: 0, maxval: 1, count: 2}}\n";

std::string array_of(SubmissionPlan const& plan) {
    return split_into_arrays({plan.trial_count, plan.concurrent_trials_max, plan.lanes}, 1001)
        .front()
        .indices();
}

}  // namespace search_test

BOOST_AUTO_TEST_SUITE(search_test)

BOOST_AUTO_TEST_CASE(trials_are_one_array_throttled_as_the_searcher_says) {
    std::string const alone = "slurm: {trials_per_node: 1}\n";
    BOOST_TEST(array_of(plan_of(alone + "searcher: {name: single}")) == "0-0%1");
    BOOST_TEST(array_of(plan_of(alone + "searcher: {name: random, max_trials: 100}")) == "0-99%16");
    BOOST_TEST(array_of(plan_of(alone + "searcher: {name: random, max_trials: 5}")) == "0-4%5");
    auto const random = alone + "searcher: {name: random, max_trials: 100, max_concurrent_trials: ";
    BOOST_TEST(array_of(plan_of(random + "0}")) == "0-99%100");
    BOOST_TEST(array_of(plan_of(random + "3}")) == "0-99%3");
    BOOST_TEST(array_of(plan_of(alone + "searcher: {name: grid}\n" + axes)) == "0-23%16");
}

BOOST_AUTO_TEST_CASE(small_trials_share_nodes_as_far_as_slots_and_searcher_allow) {
    struct Row {
        char const* text;
        std::uint32_t lanes;
        char const* array;
    };
    for (auto const& row : std::initializer_list<Row>{
             {"searcher: {name: random, max_trials: 100}", 4, "0-24%4"},
             {"searcher: {name: random, max_trials: 100}\nresources: {slots_per_trial: 2}", 2, "0-49%8"},
             {"searcher: {name: random, max_trials: 100}\nresources: {slots_per_trial: 3}", 1, "0-99%16"},
             {"searcher: {name: random, max_trials: 100}\nresources: {slots_per_trial: 8}", 1, "0-99%16"},
             {"searcher: {name: random, max_trials: 100}\nresources: {slots_per_trial: 0}", 1, "0-99%16"},
             {"searcher: {name: random, max_trials: 9}\nresources: {slots_per_trial: 0}\n"
              "slurm: {trials_per_node: 6}",
              4, "0-2%3"},
             {"searcher: {name: random, max_trials: 100}\nslurm: {trials_per_node: 2}", 2, "0-49%8"},
             {"searcher: {name: random, max_trials: 100, max_concurrent_trials: 3}", 3, "0-33%1"},
             {"searcher: {name: random, max_trials: 100}\nresources: {max_slots: 6}", 3, "0-33%2"},
             {"searcher: {name: single}", 1, "0-0%1"}}) {
        auto const plan = plan_of(row.text);
        BOOST_TEST(plan.lanes == row.lanes, row.text);
        BOOST_TEST(array_of(plan) == row.array, row.text);
    }
}

BOOST_AUTO_TEST_CASE(a_health_check_of_trials_that_share_a_job_takes_a_minute_at_most) {
    slurm::Partition const compute{"compute", true, true, "OFF", {}, {{4, 8, "idle", "gpu:4"}}};
    auto const plan = [&](int lanes, std::string const& check) {
        return plan_submission(search_config(fmt::format("searcher: {{name: random, max_trials: 8}}\n"
                                                         "slurm: {{trials_per_node: {}, health_check: {}}}",
                                                         lanes, check)),
                               site::make_site({compute}));
    };
    BOOST_TEST(must(plan(2, "{command: [a], timeout: 60}")).lanes == 2u);
    BOOST_TEST(must(plan(2, "{command: [a]}")).lanes == 2u);
    BOOST_TEST(must(plan(2, "true")).lanes == 2u);
    BOOST_TEST(must(plan(1, "{command: [a], timeout: 3600}")).lanes == 1u);
    auto const refusal = explain(must_fail(plan(2, "{command: [a], timeout: 61}")));
    BOOST_TEST(refusal.find("2 trials share a job") != std::string::npos, refusal);
    BOOST_TEST(refusal.find("use at most 60 s") != std::string::npos, refusal);
}

BOOST_AUTO_TEST_CASE(more_trials_to_a_node_than_fit_and_more_spare_nodes_than_there_are_are_refused) {
    slurm::Partition const compute{"compute", true, true, "OFF", {}, {{4, 8, "idle", "gpu:4"}}};
    auto const refusal = [&](std::string const& text) {
        return explain(must_fail(plan_submission(search_config(text), site::make_site({compute}))));
    };
    auto const packed = refusal("searcher: {name: single}\nslurm: {trials_per_node: 5}");
    BOOST_TEST(packed.find("5 trials of 1 slot don't fit on a node") != std::string::npos, packed);
    BOOST_TEST(packed.find("use at most 4") != std::string::npos, packed);
    auto const spare =
        refusal("searcher: {name: single}\nresources: {slots_per_trial: 12}\nslurm: {spare_nodes: 2}");
    BOOST_TEST(spare.find("3 nodes and 2 to spare") != std::string::npos, spare);
    BOOST_TEST(spare.find("use at most 1") != std::string::npos, spare);
}

BOOST_AUTO_TEST_CASE(what_is_searched_here_is_what_jobs_draw_from_their_specification) {
    auto const config = search_config(std::string("searcher: {name: random, max_trials: 7}\n") + axes +
                                      "  lr: {type: log, minval: -4, maxval: -1, base: 10}\n  none: null\n");
    auto const search = must(plan_search(config));
    auto const input = search_input(config);
    ExperimentSpec spec;
    spec.searcher = input.searcher;
    spec.hyperparameters = input.hyperparameters;
    spec.experiment_seed = input.experiment_seed;
    auto const read_in_the_job = must(parse_spec(render_spec(spec)));
    BOOST_TEST(search.trial_count() == 7u);
    for (std::uint32_t index = 0; index < 7; ++index)
        BOOST_TEST((must(search::draw_trial(read_in_the_job, index)) == search.draw(index)));
    BOOST_TEST(search.draw(0).hyperparameters->contains("none"));
}

BOOST_AUTO_TEST_CASE(a_grid_without_hyperparameters_is_refused) {
    auto const text = refusal_of("searcher: {name: grid}\n");
    BOOST_TEST(text.find("exp.yaml:1:18: error: a grid search without hyperparameters has no trials") == 0u,
               text);
    BOOST_TEST(array_of(plan_of("searcher: {name: grid}\nhyperparameters: {a: {}}\n")) == "0-0%1");
}

BOOST_AUTO_TEST_CASE(a_grid_of_more_trials_than_an_experiment_has_is_refused_with_the_numbers) {
    check_golden("plan/large_grid.txt",
                 refusal_of("searcher:\n  name: grid\nhyperparameters:\n"
                            "  lr: {type: log, base: 10, minval: -4, maxval: -1, count: 5000}\n"
                            "  opt:\n    momentum: {type: double, minval: 0, maxval: 1, count: 5000}\n"));
}

BOOST_AUTO_TEST_CASE(an_adaptive_search_is_an_array_of_all_trials_of_its_brackets) {
    std::string const asha =
        "searcher:\n  name: adaptive_asha\n  max_trials: 100\n  max_length: {batches: 100}\n"
        "  max_concurrent_trials: 16\n";
    auto const plan = plan_of(asha);
    BOOST_TEST(plan.trial_count == 100);
    BOOST_TEST(plan.concurrent_trials_max == 16);
    BOOST_TEST(explain(plan.warnings) == "");
    // Each of four brackets has at least one trial, and one of them runs at a time.
    auto const small = plan_of(
        "searcher:\n  name: adaptive_asha\n  max_trials: 2\n  max_length: {batches: 100}\n"
        "  max_concurrent_trials: 1\n  bracket_rungs: [4, 3, 2, 1]\n");
    BOOST_TEST(small.trial_count == 4);
    BOOST_TEST(small.concurrent_trials_max == 4);
}

BOOST_AUTO_TEST_CASE(what_can_not_be_searched_is_told_at_once_with_its_places) {
    check_golden("plan/no_search.txt",
                 refusal_of("searcher: {name: adaptive_asha, max_trials: 4, max_length: {batches: 9}}\n"
                            "hyperparameters:\n  lr: {type: double, minval: -1.7e308, maxval: 1.7e308}\n"
                            "  opt:\n    name: {type: categorical, vals: []}\n"
                            "  size: {type: log, base: 10, minval: 1, maxval: 1000}\n"));
    auto const many = refusal_of("searcher:\n  name: random\n  max_trials: 1000001\n");
    BOOST_TEST(many.find("exp.yaml:3:15: error: 1000001 are more than") == 0u, many);
}

BOOST_AUTO_TEST_CASE(a_length_that_cannot_be_converted_to_batches_is_a_warning) {
    auto const warnings_of = [](std::string const& length, std::string const& rest) {
        auto const text = "searcher: {name: single, max_length: " + length + "}\n" + rest +
                          "slurm: {exclusive: true}\n";  // no warning that a slot holds a node
        auto const warnings = explain(plan_of(text).warnings);
        BOOST_TEST(explain(check_supported(search_config(text))) == warnings);
        return warnings;
    };
    std::string const batch = "hyperparameters: {global_batch_size: 32}\n",
                      epoch = "records_per_epoch: 640\n";
    BOOST_TEST(warnings_of("{epochs: 4}", "") ==
               "exp.yaml:1:38: warning: searcher.max_length is in epochs, and records_per_epoch and "
               "global_batch_size are not configured: steps_completed is taken as epochs [missing-key]\n"
               "    1 | searcher: {name: single, max_length: {epochs: 4}}\n"
               "      |                                      ^\n"
               "  hint: add 'records_per_epoch: ...' and the hyperparameter 'global_batch_size', so that "
               "steps_completed can count batches\n");
    BOOST_TEST(warnings_of("{epochs: 4}", batch).find("and records_per_epoch is not") != std::string::npos);
    BOOST_TEST(warnings_of("{epochs: 4}", epoch).find("and global_batch_size is not") != std::string::npos);
    BOOST_TEST(warnings_of("{records: 4}", epoch).find("is taken as records") != std::string::npos);
    BOOST_TEST(warnings_of("{epochs: 4}", batch + epoch) == "");
    BOOST_TEST(warnings_of("{records: 4}", batch) == "");
    BOOST_TEST(warnings_of("{batches: 4}", "") == "");
    // A trial class counts its epochs itself.
    BOOST_TEST(warnings_of("{epochs: 4}", "entrypoint: model_def:MyTrial\n") == "");
    BOOST_TEST(warnings_of("{records: 4}", "entrypoint: model_def:MyTrial\n") != "");
    BOOST_TEST(warnings_of("4", "") == "");
    // Each trial draws its batch size.
    BOOST_TEST(warnings_of("{records: 4}",
                           "hyperparameters: {global_batch_size: {type: int, minval: 8, maxval: 64}}\n") ==
               "");
}

BOOST_AUTO_TEST_SUITE_END()
