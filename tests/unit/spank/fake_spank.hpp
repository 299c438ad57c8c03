#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

/// A fake of srun, sbatch and slurmstepd. The functions of SPANK are in the host process, so a test links its
/// own.
struct FakeSpank {
    /// Result of spank_context(), a number of spank.h.
    int context = 2;  // S_CTX_REMOTE
    std::map<std::string, std::string> environment;
    unsigned job_id = 123;
    unsigned step_id = 0;
    int local_task = 0;
    /// The layout of the step: its nodes as Slurm lists them, and the tasks of each.
    std::string nodes = "n0";
    std::vector<std::vector<unsigned>> tasks_of_nodes{{0}};
    std::vector<std::string> argv;
    std::vector<char*> argv_pointers;                           // result of S_JOB_ARGV
    std::map<std::string, std::optional<std::string>> options;  // given: name and value
    std::map<std::string, int (*)(int, char const*, int)> registered;
    std::map<std::string, int> option_values;  // the value that each option's callback expects
    std::vector<std::string> errors;           // messages of slurm_error

    /// The call, counted from 0, that returns ESPANK_ERROR.
    std::optional<int> failing_call;
    bool fails = false;  // every call does
    int calls = 0;

    /// Counts a call; returns whether it fails.
    bool next_call_fails() { return calls++ == failing_call || fails; }
};

FakeSpank& fake_spank();
