#pragma once

namespace det {

/// The exit codes of all programs of det-submit; a program that runs another program (det-wrap-rank) may also
/// exit with the code of the other program. Scripts rely on the numbers: values may be added but never
/// changed.
enum class ExitCode : int {
    done = 0,
    could_not = 1,
    usage = 2,              // the command line is wrong
    bad_file = 3,           // an error in a file: syntax, key, type, unknown pool, impossible slots
    absent = 4,             // a named object (file, template, experiment, trial, job ...) does not exist
    refused_by_slurm = 5,   // sbatch or slurmctld refused
    slurm_unreachable = 6,  // slurmctld does not answer
    timed_out = 7,
    damaged = 8,        // a checkpoint, or a journal from which the command answers
    internal = 70,      // a bug in the program
    interrupted = 130,  // Ctrl-C
};

constexpr int to_int(ExitCode code) { return static_cast<int>(code); }

}  // namespace det
