#pragma once
#include <chrono>
#include <csignal>
#include <optional>
#include <string>
#include <vector>

namespace det::launch::supervisor {

/// The signals that Slurm may send to a batch script, by `--signal` or scancel: all that a process can
/// handle, except for those of its own faults, its children, its terminal and its suspension. URG is for the
/// supervisor.
sigset_t script_signals();

/// How long before the time limit Slurm sends the signal of `--signal` to a batch script. nullopt: the
/// options have none, or it is for the steps.
std::optional<std::chrono::seconds> find_warning_time(std::vector<std::string> const& sbatch_options);

}  // namespace det::launch::supervisor
