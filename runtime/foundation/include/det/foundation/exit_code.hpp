#pragma once

namespace det {

/// How every program of ours ends. Scripts rely on these numbers: values are only ever added.
enum class ExitCode : int {
    done = 0,
    could_not = 1,
    usage = 2,              // the command line is wrong
    bad_file = 3,           // what a file says: syntax, key, type, unknown pool, slots that can't fit
    absent = 4,             // a named thing is not there: file, template, experiment
    refused_by_slurm = 5,   // sbatch or slurmctld said no
    slurm_unreachable = 6,  // slurmctld does not answer
    timed_out = 7,
    checkpoint_damaged = 8,
    internal = 70,      // our fault: please report
    interrupted = 130,  // Ctrl-C
};

constexpr int to_int(ExitCode code) { return static_cast<int>(code); }

}  // namespace det
