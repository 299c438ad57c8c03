// SPDX-License-Identifier: GPL-2.0-or-later
// It includes Slurm's headers, which are GPL-2.0-or-later.
#pragma once

// spank.h declares its callbacks before it says that they are C.
extern "C" {
#include <slurm/spank.h>
}

#include <cstdint>

#include "wishes.hpp"

namespace det::spank {

/// Slurm, as a hook sees it: the job's environment, who the task is, what it will run, which options were
/// given. Calls that SPANK refuses are absent values or errors, never exceptions.
class Host {
public:
    explicit Host(spank_t job) : job_(job) {}

    /// Where options exist: in srun, sbatch, salloc and slurmstepd, not in slurmd and its prologs.
    static bool has_options();
    /// Makes our options known, with the call that tells of each one that is given.
    Status register_options(spank_opt_cb_f on_option) const;
    /// What the options that were given ask for.
    Result<Wishes> find_wishes() const;

    /// A variable of the task, whatever its length (up to 1 MiB).
    std::optional<std::string> find_variable(std::string_view name) const;
    Status set_variable(std::string const& name, std::string const& value) const;
    Status unset_variable(char const* name) const;

    /// srun's own environment, which becomes the tasks': there SPANK has no calls for it.
    static std::optional<std::string> find_own_variable(char const* name);
    static void set_own_variable(char const* name, std::string const& value);

    std::optional<std::uint32_t> job_id() const;
    std::optional<std::uint32_t> step_id() const;
    /// Of the task whose hook this is: its number on the node.
    std::optional<int> local_task() const;

    /// Puts a program in front of the task's command, which it finds in its arguments behind "--spank" (Slurm
    /// from 23.11 on), or, with its arguments alone, in DET_SPANK_COMMAND.
    Status put_in_front(std::string const& program) const;

private:
    spank_t job_;
};

}  // namespace det::spank
