#include <det/journal/writer.hpp>
#include <det/protocol/json.hpp>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <fmt/format.h>
#include <map>

#include "core_support.hpp"

using namespace det;
using namespace det::core;

namespace searcher_test {

constexpr auto later = Preempt::Acknowledge::later;

/// An experiment of 9 trials in one bracket, whose rungs are at 1, 3 and 9 epochs.
Json asha() {
    return {{"max_trials", 9}, {"max_length", {{"epochs", 9}}}, {"divisor", 3}, {"bracket_rungs", {3}}};
}

struct Fixture : RunFixture {
    /// Makes the fixture's run one of this experiment.
    void experiment(std::string const& name, Json const& searcher, Json const& config = Json::object(),
                    Json const& hyperparameters = Json::object()) {
        ExperimentSpec spec;
        spec.id = {7};
        spec.checkpoint_path = directory / "checkpoints";
        spec.searcher = {name, "loss", true, searcher};
        spec.config = config;
        must(write_file(info / info_files::spec, render_spec(spec)));
        hparams = hyperparameters;
        be_trial(3);
    }
    /// Makes this process a rank of another trial. Its run's directory stays.
    void be_trial(std::uint32_t index) {
        TrialInfo trial_info;
        trial_info.trial = {{7}, index};
        trial_info.trial_run_id = 2;
        trial_info.hparams = hparams;
        must(write_file(info / info_files::trial, render_trial_info(trial_info)));
    }
    /// Records that an earlier run of the trial has completed this length.
    void completed_before(std::uint64_t length) {
        must(make_directories(trial.run(1).path()));
        auto writer = must(journal::JournalWriter::create(trial.run(1).chief_journal()));
        must(writer.append(OperationCompleted{clock.now(), length, 0.5}));
    }
    /// Completes all operations of a context. Returns their lengths.
    static std::vector<std::uint64_t> complete_all(Context& context) {
        std::vector<std::uint64_t> lengths;
        while (auto const length = must(context.searcher().next_operation())) {
            lengths.push_back(*length);
            must(context.searcher().report_completed(0.25));
        }
        return lengths;
    }
    std::vector<std::uint64_t> complete_all() {
        auto context = init();
        return complete_all(context);
    }
    template <class T>
    std::size_t count() const {
        auto const all = records();
        return static_cast<std::size_t>(std::count_if(
            all.begin(), all.end(), [](auto const& record) { return std::holds_alternative<T>(record); }));
    }

    Json hparams;
};

using Lengths = std::vector<std::uint64_t>;

}  // namespace searcher_test

BOOST_FIXTURE_TEST_SUITE(searcher_test, Fixture)

BOOST_AUTO_TEST_CASE(batches_are_left_until_the_length_is_reached) {
    experiment("single", Json{{"max_length", {{"batches", 100}}}});
    auto context = init();
    auto const& searcher = context.searcher();
    BOOST_TEST(searcher.training_length()->describe() == "100 batches");
    BOOST_TEST(searcher.batches_left(0).value() == 100u);
    BOOST_TEST(searcher.batches_left(99).value() == 1u);
    BOOST_TEST(searcher.batches_left(100).value() == 0u);
    BOOST_TEST(searcher.batches_left(101).value() == 0u);
}

BOOST_AUTO_TEST_CASE(epochs_and_records_are_converted_to_batches) {
    Json const epochs{{"max_length", {{"epochs", 8}}}}, records{{"max_length", {{"records", 65}}}};
    Json const config{{"records_per_epoch", 100}}, hyperparameters{{"global_batch_size", 32}};
    experiment("random", epochs, config, hyperparameters);
    BOOST_TEST(init().searcher().batches_left(20).value() == 5u);
    experiment("random", records, config, hyperparameters);
    BOOST_TEST(init().searcher().batches_left(0).value() == 3u);
    // The program then counts epochs or records itself.
    experiment("random", epochs, config);
    BOOST_TEST(init().searcher().batches_left(3).value() == 5u);
    experiment("random", records);
    BOOST_TEST(init().searcher().batches_left(3).value() == 62u);
}

BOOST_AUTO_TEST_CASE(without_a_length_in_steps_the_number_of_batches_left_is_unknown) {
    experiment("single", Json::object());
    BOOST_TEST(!init().searcher().training_length().has_value());
    BOOST_TEST(!init().searcher().batches_left(0).has_value());
    experiment("adaptive_asha", Json{{"max_trials", 4}, {"time_metric", "hours"}, {"max_time", 4}});
    BOOST_TEST(init().searcher().training_length()->describe() == "4 of 'hours'");
    BOOST_TEST(!init().searcher().batches_left(0).has_value());
    without_trial();
    BOOST_TEST(!init().searcher().training_length().has_value());
    BOOST_TEST(!init().searcher().batches_left(0).has_value());
}

BOOST_AUTO_TEST_CASE(a_trial_that_is_not_stopped_early_has_one_operation) {
    for (auto const* name : {"single", "random", "grid"}) {
        must(remove_tree(run.chief_journal()));
        experiment(name, Json{{"max_length", 100}});
        BOOST_TEST(complete_all() == Lengths{100}, name);
        auto const completed = std::get<OperationCompleted>(records().back());
        BOOST_TEST(completed.length == 100u);
        BOOST_TEST(completed.metric == 0.25);
    }
}

BOOST_AUTO_TEST_CASE(a_trial_of_asha_has_an_operation_for_each_rung) {
    experiment("adaptive_asha", asha());
    BOOST_TEST((complete_all() == Lengths{1, 3, 9}));
    BOOST_TEST(count<OperationCompleted>() == 3u);
    // Rungs of the same length are one operation.
    must(remove_tree(run.chief_journal()));
    experiment("async_halving", Json{{"max_trials", 9}, {"max_length", 4}, {"divisor", 4}, {"num_rungs", 4}});
    BOOST_TEST((complete_all() == Lengths{1, 4}));
}

BOOST_AUTO_TEST_CASE(a_replacement_has_the_operations_of_the_trial_that_it_replaces) {
    // Two brackets: about every fourth trial has only one rung.
    experiment("adaptive_asha",
               Json{{"max_trials", 8}, {"max_length", 9}, {"divisor", 3}, {"bracket_rungs", {1, 2}}});
    std::map<std::size_t, std::uint32_t> trial_with;  // by number of operations
    for (std::uint32_t index = 0; index < 8; ++index) {
        must(remove_tree(run.chief_journal()));
        be_trial(index);
        trial_with[complete_all().size()] = index;
    }
    BOOST_REQUIRE(trial_with.size() == 2u);
    ExperimentLayout const layout(directory.path());
    must(make_directories(layout.trial(8).path()));
    must(make_directories(layout.trial(9).path()));
    must(write_file(layout.trial(9).replaces(), "8\n"));
    for (auto const& [operations, planned] : trial_with) {
        must(remove_tree(run.chief_journal()));
        must(write_file(layout.trial(8).replaces(), fmt::format("{}\n", planned)));
        be_trial(9);
        BOOST_TEST(complete_all().size() == operations);
    }
    be_trial(10);
    auto context = init();
    BOOST_TEST((must_fail(context.searcher().next_operation()).code == codes::damaged));
}

BOOST_AUTO_TEST_CASE(a_trial_continues_with_the_first_operation_that_it_has_not_completed) {
    experiment("adaptive_asha", asha());
    completed_before(3);
    {
        auto context = init();
        BOOST_TEST(must(context.searcher().next_operation()).value() == 9u);
    }
    BOOST_TEST((complete_all() == Lengths{9}));  // the context above has not completed it
    BOOST_TEST(complete_all().empty());          // this run has completed it now
}

BOOST_AUTO_TEST_CASE(an_operation_is_completed_once_before_the_next_one) {
    experiment("adaptive_asha", asha());
    auto context = init();
    auto& searcher = context.searcher();
    BOOST_TEST((must_fail(searcher.report_completed(1)).code == codes::misuse));
    must(searcher.next_operation());
    auto const error = must_fail(searcher.next_operation());
    BOOST_TEST((error.code == codes::misuse));
    BOOST_TEST(error.message == "you must call report_completed() on each operation");
    must(searcher.report_completed(std::nan("")));
    BOOST_TEST((must_fail(searcher.report_completed(1)).code == codes::misuse));
    BOOST_TEST(must(searcher.next_operation()).value() == 3u);
    BOOST_TEST(count<OperationCompleted>() == 1u);
}

BOOST_AUTO_TEST_CASE(progress_is_reported_as_a_part_of_the_whole_length) {
    experiment("adaptive_asha", asha());
    auto context = init();
    must(context.searcher().next_operation());
    must(context.searcher().report_progress(4.5));
    must(context.train().flush());
    BOOST_TEST(std::get<ProgressReported>(records().back()).progress == 0.5);
    for (double const length : {-0.1, 9.1, std::nan("")})
        BOOST_TEST((must_fail(context.searcher().report_progress(length)).code == codes::misuse));
}

BOOST_AUTO_TEST_CASE(a_notice_ends_the_operations_and_is_acknowledged) {
    experiment("adaptive_asha", asha());
    auto context = init();
    must(context.searcher().next_operation());
    raise_notice();
    must(context.searcher().report_completed(1));
    BOOST_TEST(!must(context.searcher().next_operation(Searcher::Mode::chief_only, later)).has_value());
    BOOST_TEST(count<PreemptionAcknowledged>() == 0u);
    must(context.searcher().acknowledge_end());
    BOOST_TEST(count<PreemptionAcknowledged>() == 1u);
    BOOST_TEST(!must(context.searcher().next_operation()).has_value());
    BOOST_TEST(count<PreemptionAcknowledged>() == 1u);
}

BOOST_AUTO_TEST_CASE(a_trial_that_has_completed_all_operations_has_finished_in_spite_of_a_notice) {
    experiment("single", Json{{"max_length", 100}});
    auto context = init();
    must(context.searcher().next_operation());
    must(context.searcher().report_completed(1));
    raise_notice();
    BOOST_TEST(!must(context.searcher().next_operation()).has_value());
    must(context.searcher().acknowledge_end());
    BOOST_TEST(count<PreemptionAcknowledged>() == 0u);
}

BOOST_AUTO_TEST_CASE(operations_need_a_length) {
    experiment("single", Json::object());
    auto context = init();
    BOOST_TEST((must_fail(context.searcher().next_operation()).code == codes::misuse));
    BOOST_TEST((must_fail(context.searcher().report_progress(0)).code == codes::misuse));
}

BOOST_AUTO_TEST_CASE(outside_of_an_experiment_there_is_one_operation_of_length_1) {
    without_trial();
    auto context = init();
    BOOST_TEST(must(context.searcher().next_operation()).value() == 1u);
    must(context.searcher().report_progress(0.5));
    must(context.searcher().report_completed(1));
    BOOST_TEST(!must(context.searcher().next_operation()).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
