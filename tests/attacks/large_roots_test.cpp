// Roots with 10,000 experiments, and with an experiment of 5,000 trials: each command ends within the time
// limit.
#include <det/protocol/json.hpp>
#include <det/search/rung.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include "cli_support.hpp"
#include "cpu_time.hpp"
#include "example_experiments.hpp"

using namespace det;
using namespace det::cli;

namespace large_roots_test {

constexpr std::uint32_t trial_count = 5'000;
constexpr std::uint32_t experiment_count = 10'000;

/// A run that reported validations and a checkpoint, and finished.
void run_trial_0(ExperimentLayout const& experiment) {
    auto life = start_run(experiment, 0, 1);
    must(life.append(finish(20)));
    auto chief = report(experiment, 0);
    for (std::uint64_t step = 100; step <= 300; step += 100)
        must(
            chief.append(MetricsReported{minute(2), "validation", step, Json{{"loss", 1.0 / double(step)}}}));
    must(chief.append(CheckpointCommitted{minute(4), "00000000-0000-4000-8000-000000000001", 300,
                                          Json{{"weights", 1536}}, Json{{"steps_completed", 300}}}));
}

/// An adaptive search of which all trials have ended.
void write_large_experiment(RootLayout const& root) {
    auto const experiment = create_example(root, 1);
    must(write_file(experiment.path() / "config.yaml", "name: digits\n"));
    auto spec = must(parse_spec(must(read_file(experiment.spec()))));
    spec.searcher = {"async_halving", "loss", true,
                     Json{{"num_rungs", 3},
                          {"max_trials", trial_count},
                          {"max_length", {{"batches", 900}}},
                          {"divisor", 3}}};
    spec.hyperparameters = Json{{"lr", {{"type", "double"}, {"minval", 0}, {"maxval", 1}}}};
    spec.trial_count = trial_count;
    must(write_file(experiment.spec(), render_spec(spec)));
    run_trial_0(experiment);
    auto const first = experiment.trial(0).run(0);
    must(make_directories(experiment.rung(0, 0)));
    for (std::uint32_t index = 0; index < trial_count; ++index) {
        must(write_file(experiment.rung(0, 0) / search::rung_entry_name({index, 1.0 / (index + 1)}), ""));
        if (index == 0) continue;
        auto const run = experiment.trial(index).run(0);
        must(make_directories(run.path()));
        std::filesystem::copy_file(first.supervisor_journal(), run.supervisor_journal());
        std::filesystem::copy_file(first.chief_journal(), run.chief_journal());
    }
}

void write_many_experiments(RootLayout const& root) {
    auto const first = create_example(root, 1);
    run_trial_0(first);
    for (std::uint32_t id = 2; id <= experiment_count; ++id) {
        ExperimentLayout const experiment(root, {id});
        must(make_directories(experiment.trial(0).run(0).path()));
        must(make_directories(experiment.events()));
        auto spec = must(parse_spec(must(read_file(first.spec()))));
        spec.id = {id};
        must(write_file(experiment.spec(), render_spec(spec)));
        std::filesystem::copy_file(first.events() / "1-created.json", experiment.events() / "1-created.json");
        auto const run = experiment.trial(0).run(0), of_first = first.trial(0).run(0);
        std::filesystem::copy_file(of_first.supervisor_journal(), run.supervisor_journal());
        std::filesystem::copy_file(of_first.chief_journal(), run.chief_journal());
    }
}

constexpr char const* commands_for_trials[] = {
    "experiment list",
    "experiment list --metrics",
    "experiment describe 1",
    "experiment describe 1 --search",
    "experiment config 1",
    "experiment list-trials 1",
    "experiment best 1",
    "experiment list-checkpoints 1",
    "experiment compare 1 1",
    "experiment report 1",
    "experiment wait 1",
    "experiment logs 1",
    "experiment gc 1 --dry-run",
    "trial describe 1.4999",
    "trial metrics 1.4999",
    "trial logs 1.4999",
    "checkpoint list 1",
    "job list",
    "task list",
    "experiment archive 1",
    "experiment unarchive 1",
    "experiment label add 1 large",
    "experiment kill 1",
    "completion bash --complete -- det-submit trial describe 1.",
    "experiment delete 1 --yes",
};

constexpr char const* commands_for_experiments[] = {
    "experiment list",
    "experiment list --all",
    "experiment list --metrics",
    "experiment describe 9999",
    "experiment best 9999",
    "experiment compare 1 9999",
    "experiment report 9999",
    "experiment wait 9999",
    "experiment set name 9999 other",
    "job list",
    "task list",
    "resource-pool list",
    "experiment gc 9999",
    "experiment delete 9999 --yes",
};

struct Fixture : CliFixture {
    /// A queue of 10,000 tasks.
    Fixture() {
        for (std::uint32_t task = 0; task < 10'000; ++task) {
            auto job = job_of(1, slurm::JobState::pending, "PENDING");
            job.ref.task = task;
            slurm.other_jobs.push_back(job);
        }
    }
    void check_cost(std::span<char const* const> commands) {
        for (std::string const command : commands) {
            for (std::string const& line : {command, command + " --json"}) {
                bool const can_repeat = !contains(command, "--yes") && !contains(command, " -- ");
                if (line != command && !can_repeat) continue;
                int code = 0;
                auto const time = cpu_time_s([&] { code = run(line); });
                BOOST_TEST(time < cpu_limit_s, line << " took " << time << " s");
                BOOST_TEST_MESSAGE(line << ": " << time << " s, exit code " << code << " "
                                        << err.substr(0, 200));
            }
        }
    }
};

}  // namespace large_roots_test

BOOST_FIXTURE_TEST_SUITE(large_roots_test, large_roots_test::Fixture)

BOOST_AUTO_TEST_CASE(commands_on_an_experiment_of_5000_trials_keep_the_time_limit) {
    large_roots_test::write_large_experiment(root);
    check_cost(large_roots_test::commands_for_trials);
}

BOOST_AUTO_TEST_CASE(commands_on_a_root_of_10000_experiments_keep_the_time_limit) {
    large_roots_test::write_many_experiments(root);
    check_cost(large_roots_test::commands_for_experiments);
}

BOOST_AUTO_TEST_SUITE_END()
