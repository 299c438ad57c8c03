// SPDX-License-Identifier: GPL-2.0-or-later
// Part of the plugin, which includes Slurm's headers, which are GPL-2.0-or-later.
#pragma once
#include <det/protocol/step_run.hpp>

#include <string>
#include <string_view>

namespace det::spank {

/// Decides which streams of a step get labels, from where srun writes them. A stream gets none if a program
/// or the user reads it as data: if it is a pipe or a file that the script has made for srun, or a file of
/// srun's
/// --output or --error. A stream gets labels if it is the output of the batch script or of the task in which
/// srun was called, or a terminal. Runs in srun: reads srun's own descriptors, its command line and, in
/// /proc, those of its ancestors. What can't be read counts as the script's own output.
LabelledStreams choose_labelled_streams(VariableLookup const& lookup);

/// Identifies the files to which this process writes: "JOB DEVICE:INODE DEVICE:INODE", standard output and
/// error. A task that becomes a batch script renders it; srun compares it with its own descriptors.
std::string render_job_output(std::string_view job_id);

}  // namespace det::spank
