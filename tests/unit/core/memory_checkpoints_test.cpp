// slurm.memory_checkpoints, with one rank: which steps are kept, and what the next run loads.
#include <det/checkpoint/memory_directory.hpp>
#include <det/checkpoint/memory_snapshots.hpp>
#include <det/protocol/json.hpp>

#include <boost/test/unit_test.hpp>
#include <numeric>
#include <unistd.h>

#include "core_support.hpp"

using namespace det;
using namespace det::core;

namespace memory_checkpoints_test {

/// Runs of trial 7.3 in a job whose number no other test of this machine uses.
struct Fixture : RunFixture {
    std::string const job = std::to_string(3'000'000'000U + static_cast<unsigned>(::getpid()));
    std::vector<double> values = std::vector<double>(5000);

    Fixture() {
        environment.set(variables::run_job, job);
        configure(Json{{"slurm", {{"memory_checkpoints", {{"every", 10}}}}}});
    }
    ~Fixture() {
        for (auto const& path : directories()) (void)remove_tree(path);
    }
    std::vector<std::filesystem::path> directories() const {
        return checkpoint::find_memory_directories({checkpoint::shared_memory, job, "7.3", ""});
    }
    void configure(Json config, Launch launch = Launch::rank) const {
        ExperimentSpec spec;
        spec.id = {7};
        spec.launch = launch;
        spec.checkpoint_path = directory / "checkpoints";
        spec.config = std::move(config);
        must(write_file(info / info_files::spec, render_spec(spec)));
    }
    /// Begins a run that continues from a checkpoint of so many steps.
    Context begin(std::uint32_t run_number, std::uint64_t steps_completed = 0) {
        TrialInfo trial_info;
        trial_info.trial = {{7}, 3};
        trial_info.trial_run_id = run_number;
        trial_info.steps_completed = steps_completed;
        must(write_file(info / info_files::trial, render_trial_info(trial_info)));
        auto const path = trial.run(run_number).path();
        must(make_directories(path));
        environment.set(variables::run_path, path.string());
        return init();
    }
    /// Loads a state. The checkpoint of the run does not exist in this storage.
    bool loads_from_memory(Context& context) {
        auto const loaded = context.checkpoint().load(state());
        if (!loaded) BOOST_TEST((loaded.error().code == codes::no_such_checkpoint));
        return loaded && *loaded && (*loaded)->is_from_memory;
    }
    checkpoint::State state() {
        return {checkpoint::NamedTensor::whole("values", checkpoint::DataType::float64, {values.size()},
                                               values.data())};
    }
    /// Trains the steps, and returns those of which the state was kept.
    std::vector<std::uint64_t> train(Context& context, std::vector<std::uint64_t> const& steps) {
        std::vector<std::uint64_t> kept;
        for (auto const step : steps) {
            std::iota(values.begin(), values.end(), static_cast<double>(step));
            bool const is_due = context.checkpoint().is_kept_in_memory(step);
            BOOST_TEST(must(context.checkpoint().keep_in_memory(step, Json{{"note", step}}, state())) ==
                       is_due);
            if (is_due) kept.push_back(step);
        }
        std::ranges::fill(values, -1);
        return kept;
    }
};

using Steps = std::vector<std::uint64_t>;

}  // namespace memory_checkpoints_test

BOOST_FIXTURE_TEST_SUITE(memory_checkpoints_test, Fixture)

BOOST_AUTO_TEST_CASE(the_state_is_kept_every_so_many_steps) {
    auto context = begin(1);
    BOOST_TEST(train(context, {1, 9, 10, 11, 19, 20, 20, 27, 33, 39, 41}) == (Steps{10, 20, 33, 41}),
               boost::test_tools::per_element());
    must(context.close());
    BOOST_TEST(directories().size() == 1u);
}

BOOST_AUTO_TEST_CASE(the_next_run_continues_from_the_newest_state_and_records_that) {
    {
        auto context = begin(1);
        train(context, {10, 20, 30, 35});
    }  // killed: no close()
    auto context = begin(2, 10);
    auto const loaded = must(context.checkpoint().load(state()));
    BOOST_REQUIRE(loaded.has_value());
    BOOST_TEST(loaded->is_from_memory);
    BOOST_TEST(loaded->manifest.uuid == "memory-1-30");
    BOOST_TEST(loaded->manifest.run == "7.3.1");
    BOOST_TEST(loaded->manifest.steps_completed == 30u);
    BOOST_TEST(loaded->manifest.metadata == (Json{{"note", 30}, {"steps_completed", 30}}));
    BOOST_TEST(values[0] == 30);
    BOOST_TEST(values.back() == 30 + 4999);
    BOOST_TEST(
        must(context.checkpoint().loadable()) ==
            (std::vector<std::string>{"memory-1-30", "memory-1-20", "00000000-0000-4000-8000-000000000001"}),
        boost::test_tools::per_element());
    auto const by_name = must(context.checkpoint().load_from("memory-1-20", state()));
    BOOST_TEST(by_name.is_own);
    BOOST_TEST(by_name.manifest.steps_completed == 20u);
    BOOST_TEST(values[0] == 20);
    auto const manifest = must(context.checkpoint().load_manifest("memory-1-20"));
    BOOST_TEST(manifest.metadata == (Json{{"note", 20}, {"steps_completed", 20}}));
    BOOST_REQUIRE(manifest.tensors.size() == 1u);
    BOOST_TEST(manifest.tensors[0].name == "values");
    BOOST_TEST((must_fail(context.checkpoint().load_from("memory-1-21", state())).code ==
                codes::no_such_checkpoint));
    must(context.checkpoint().load_from("memory-1-30", state()));
    BOOST_TEST(train(context, {35, 40}) == (Steps{40}), boost::test_tools::per_element());
    must(context.close());
    auto const written = must(journal::load_journal(trial.run(2).chief_journal())).records;
    auto const continued = std::ranges::find_if(
        written, [](auto const& record) { return std::holds_alternative<ContinuedFromMemory>(record); });
    BOOST_REQUIRE((continued != written.end()));
    BOOST_TEST(std::get<ContinuedFromMemory>(*continued).steps_completed == 30u);
    BOOST_TEST(std::get<ContinuedFromMemory>(*continued).run == 1u);
}

BOOST_AUTO_TEST_CASE(what_a_run_has_saved_or_kept_itself_is_newer_than_what_the_run_before_has_kept) {
    {
        auto context = begin(1);
        train(context, {10, 20, 30});
    }
    {
        auto context = begin(2);
        std::ranges::fill(values, 5);
        must(context.checkpoint().save(5, Json::object(), state()));
        must(context.checkpoint().finish());
        auto const listed = must(context.checkpoint().loadable());
        BOOST_TEST(std::ranges::none_of(listed, checkpoint::is_memory_snapshot_name));
        BOOST_TEST(!loads_from_memory(context));
    }
    auto context = begin(2);
    BOOST_TEST(train(context, {10}) == (Steps{10}), boost::test_tools::per_element());
    BOOST_TEST(!loads_from_memory(context));
}

BOOST_AUTO_TEST_CASE(a_state_from_which_the_program_does_not_continue_is_not_recorded) {
    {
        auto context = begin(1);
        train(context, {10, 20, 30});
    }
    auto context = begin(2);
    BOOST_REQUIRE(must(context.checkpoint().load(state())).has_value());
    // The program can't use the state, and begins anew.
    BOOST_TEST(train(context, {1, 10}) == (Steps{10}), boost::test_tools::per_element());
    must(context.train().report_training_metrics(11, Json{{"loss", 1}}));
    must(context.close());
    auto const written = must(journal::load_journal(trial.run(2).chief_journal())).records;
    BOOST_TEST(std::ranges::none_of(
        written, [](auto const& record) { return std::holds_alternative<ContinuedFromMemory>(record); }));
}

BOOST_AUTO_TEST_CASE(a_run_loads_nothing_of_older_runs_and_of_other_restarts_of_the_job) {
    environment.set(variables::run_key, "7.3.1-" + job + "-0");
    {
        auto context = begin(1);
        train(context, {10, 20, 30});
    }
    {
        auto context = begin(3);
        BOOST_TEST(!loads_from_memory(context));
    }
    environment.set(variables::run_key, "7.3.2-" + job + "-1");
    {
        auto context = begin(2);
        BOOST_TEST(!loads_from_memory(context));
    }
    environment.set(variables::run_key, "7.3.2-" + job + "-0");
    auto context = begin(2);
    BOOST_TEST(loads_from_memory(context));
}

BOOST_AUTO_TEST_CASE(a_checkpoint_of_as_many_steps_is_used_instead) {
    {
        auto context = begin(1);
        train(context, {10, 20});
    }
    auto context = begin(2, 20);
    auto const loaded = context.checkpoint().load(state());
    // The run's checkpoint does not exist in this storage.
    BOOST_TEST((must_fail(loaded).code == codes::no_such_checkpoint));
    BOOST_TEST(values[0] == -1);
}

BOOST_AUTO_TEST_CASE(nothing_is_kept_without_the_key_in_a_script_and_without_a_job) {
    configure(Json::object());
    {
        auto context = begin(1);
        BOOST_TEST(train(context, {10, 20}).empty());
    }
    configure(Json{{"slurm", {{"memory_checkpoints", {{"every", 10}}}}}}, Launch::script);
    {
        auto context = begin(2);
        BOOST_TEST(train(context, {10, 20}).empty());
    }
    configure(Json{{"slurm", {{"memory_checkpoints", {{"every", 10}}}}}});
    environment.unset(variables::run_job);
    auto context = begin(3);
    BOOST_TEST(train(context, {10, 20}).empty());
    BOOST_TEST(directories().empty());
}

BOOST_AUTO_TEST_CASE(metadata_that_is_no_object_is_a_mistake) {
    auto context = begin(1);
    BOOST_TEST((must_fail(context.checkpoint().keep_in_memory(10, Json(3), state())).code == codes::misuse));
}

BOOST_AUTO_TEST_SUITE_END()
