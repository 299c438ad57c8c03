#pragma once
#include <det/journal/writer.hpp>
#include <det/protocol/directory_layout.hpp>
#include <det/slurm/job.hpp>

#include <string>

namespace det::cli {

/// Minutes after 2026-11-21T12:00:00Z.
UtcTime minute(int number);

/// Creates an experiment of one trial as det-submit does; its job is 4710 + id.
ExperimentLayout create_example(RootLayout const& root, std::uint32_t id, std::string const& name = "digits");

/// Begins run `number` in the given minute. Returns the writer of its life journal.
journal::JournalWriter start_run(ExperimentLayout const& experiment, std::uint32_t number, int at);
RunEnded run_end(int at, Cause cause, NextAction next_action, int exit_code, std::string message);
RunEnded finish(int at);

/// Returns the writer of the journal in which the run's chief reports.
journal::JournalWriter report(ExperimentLayout const& experiment, std::uint32_t number);

/// The task of that experiment as squeue shows it.
slurm::JobStatus job_of(std::uint32_t id, slurm::JobState state, std::string text);

/// Experiments in four states: 1 completed after a preemption, 2 runs, 3 failed, 10 was never submitted.
void write_examples(RootLayout const& root);

}  // namespace det::cli
