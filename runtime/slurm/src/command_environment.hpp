#pragma once
#include <det/foundation/environment.hpp>
#include <det/slurm/client.hpp>

namespace det::slurm {

/// The environment of squeue, sinfo, scontrol and scancel: without variables that change what they print.
Environment environment_for_reading(Environment environment);

/// The environment of sbatch: without the variables of a surrounding job and those that would set the new
/// job's shape or files. Variables that say who pays, and where and how jobs may run, stay.
Environment environment_for_submission(Submission const& submission);

}  // namespace det::slurm
