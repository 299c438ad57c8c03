// SPDX-License-Identifier: GPL-2.0-or-later
// This file includes Slurm's headers, which are GPL-2.0-or-later.
#pragma once

// spank.h declares its callback types outside of its own extern "C".
extern "C" {
#include <slurm/spank.h>
}

#include <cstdint>

#include "plugin_options.hpp"

namespace det::spank {

/// Slurm's interface for a hook: the environment of the job, the identity and command of the task, the given
/// options. Calls that SPANK refuses return empty values or errors, not exceptions.
class SpankHandle {
public:
    explicit SpankHandle(spank_t job) : job_(job) {}

    /// True where options exist: in srun, sbatch, salloc and slurmstepd, not in slurmd and its prologs.
    static bool supports_options();
    /// Registers the plugin's options; on_option is called for each given option.
    Status register_options(spank_opt_cb_f on_option) const;
    /// The options that were given.
    Result<PluginOptions> find_options() const;

    /// A variable of the task; nullopt if it is not set or longer than 1 MiB.
    std::optional<std::string> find_variable(std::string_view name) const;
    Status set_variable(std::string const& name, std::string const& value) const;
    Status unset_variable(char const* name) const;

    /// The environment of srun itself, which the tasks inherit. SPANK has no calls for it in srun.
    static std::optional<std::string> find_srun_variable(char const* name);
    static void set_srun_variable(char const* name, std::string const& value);

    std::optional<std::uint32_t> job_id() const;
    std::optional<std::uint32_t> step_id() const;
    /// The node of rank 0 of the step, in srun: asks Slurm for the layout of a step of several nodes.
    /// nullopt: the step has one node, or Slurm does not answer.
    std::optional<std::string> find_chief_host() const;
    /// Index of the hook's task on its node.
    std::optional<int> local_task() const;

    /// Prepends a program to the task's command. Since Slurm 23.11 the program gets `word` and the whole
    /// command as its arguments. Before, it gets the command's arguments, and the command is in
    /// DET_SPANK_COMMAND.
    Status prepend_command(std::string const& program, char const* word) const;

private:
    spank_t job_;
};

}  // namespace det::spank
