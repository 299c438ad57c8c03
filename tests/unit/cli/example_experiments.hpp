#pragma once
#include <det/journal/writer.hpp>
#include <det/protocol/directory_layout.hpp>
#include <det/slurm/job.hpp>

#include <string>

namespace det::cli {

/// Minutes after 2026-11-21T12:00:00Z.
UtcTime minute(int number);

/// An experiment of one trial as det-submit leaves it; its job is 4710 + id.
ExperimentLayout create_example(RootLayout const& root, std::uint32_t id, std::string const& name = "digits");

/// Run `number` begins in the given minute; the writer is that of its life.
journal::JournalWriter start_run(ExperimentLayout const& experiment, std::uint32_t number, int at);
RunEnded run_end(int at, Cause cause, NextAction next_action, int exit_code, std::string message);
RunEnded finish(int at);

/// The writer of what the run's chief reports.
journal::JournalWriter report(ExperimentLayout const& experiment, std::uint32_t number);

/// The task of that experiment as squeue shows it.
slurm::JobStatus job_of(std::uint32_t id, slurm::JobState state, std::string text);

/// Experiments in four states: 1 completed after a preemption, 2 runs, 3 failed, 10 was never submitted.
void write_examples(RootLayout const& root);

}  // namespace det::cli
