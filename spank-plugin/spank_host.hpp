// SPDX-License-Identifier: GPL-2.0-or-later
// It includes Slurm's headers, which are GPL-2.0-or-later.
#pragma once

// spank.h declares its callbacks before it says that they are C.
extern "C" {
#include <slurm/spank.h>
}

#include <det/foundation/result.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace det::spank {

/// slurmstepd, as a hook sees it: the job's environment, who the task is, what it will run. Calls that SPANK
/// refuses are absent values or errors, never exceptions.
class Host {
public:
    explicit Host(spank_t job) : job_(job) {}

    /// A variable of the task, whatever its length (up to 1 MiB).
    std::optional<std::string> find_variable(std::string_view name) const;
    Status set_variable(std::string const& name, std::string const& value) const;

    std::optional<std::uint32_t> step_id() const;

    /// Puts a program in front of the task's command, which it finds in its arguments behind "--spank" (Slurm
    /// from 23.11 on), or, with its arguments alone, in DET_SPANK_COMMAND.
    Status put_in_front(std::string const& program) const;

private:
    spank_t job_;
};

}  // namespace det::spank
