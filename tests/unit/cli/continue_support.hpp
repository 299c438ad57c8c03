#pragma once
#include <det/experiment/root_directory.hpp>
#include <det/journal/event_log.hpp>
#include <det/journal/writer.hpp>
#include <det/protocol/json.hpp>

#include <fmt/format.h>

#include "create_support.hpp"
#include "example_experiments.hpp"

namespace det::cli {

/// Experiments whose runs are written as a supervisor writes them, and a fake Slurm with jobs that tests set.
struct ContinueFixture : CreateFixture {
    ExperimentLayout current(std::uint32_t id = 1) const {
        return experiment(id).at_revision(spec(id).revision());
    }
    ExperimentSpec spec(std::uint32_t id = 1) const {
        return must(parse_spec(must(read_file(experiment(id).spec()))));
    }

    /// Writes the next run of a trial, which ends with `end`.
    void run_trial(std::uint32_t trial, RunEnded const& end, std::uint32_t id = 1) const {
        auto const layout = experiment(id).trial(trial);
        std::uint32_t number = 0;
        while (path_exists(layout.run(number).path())) ++number;
        must(make_directories(layout.run(number).path()));
        auto life = must(journal::JournalWriter::create(layout.run(number).supervisor_journal()));
        RunStarted started;
        started.time = minute(static_cast<int>(10 * number));
        must(life.append(started));
        must(life.append(end));
    }

    /// Creates an experiment with one trial of 100 batches, which has completed.
    void complete_single() {
        BOOST_REQUIRE(create(" --config searcher.max_length.batches=100") == 0);
        run_trial(0, finish(5));
    }

    /// Creates a grid of three values, of which the second trial has failed.
    void fail_in_grid() {
        must(write_file(directory / "exp.yaml",
                        "name: example\nentrypoint: ./train\nresources: {slots_per_trial: 8}\n"
                        "searcher: {name: grid, metric: loss, max_concurrent_trials: 2}\n"
                        "hyperparameters: {units: {type: categorical, vals: [8, -16, 24]}, seed: 7}\n"));
        BOOST_REQUIRE(create() == 0);
        run_trial(0, finish(5));
        run_trial(1, run_end(6, Cause::failed, NextAction::stop, 9, "a rank ended with exit code 9"));
        run_trial(2, finish(7));
    }

    void show_task(std::uint32_t job, std::uint32_t task, slurm::JobState state, std::string text,
                   std::uint32_t experiment_id = 1) {
        auto shown = job_of(1, state, std::move(text));
        shown.ref = {job, task};
        shown.comment = experiment::job_comment(root, {experiment_id});
        slurm.other_jobs.push_back(shown);
    }

    std::string state(std::uint32_t id = 1) {
        return ask(fmt::format("experiment describe {}", id))["state"].get<std::string>();
    }
    bool was_called(std::string const& call) const {
        return std::find(slurm.calls.begin(), slurm.calls.end(), call) != slurm.calls.end();
    }
};

}  // namespace det::cli
