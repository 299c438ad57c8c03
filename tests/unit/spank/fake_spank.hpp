#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

/// Stands in for srun, sbatch and slurmstepd: SPANK's functions live in the host process, so a test links its
/// own.
struct FakeSpank {
    /// What spank_context() says; numbers of spank.h.
    int context = 2;  // S_CTX_REMOTE
    std::map<std::string, std::string> environment;
    unsigned job_id = 123;
    unsigned step_id = 0;
    int local_task = 0;
    std::vector<std::string> argv;
    std::vector<char*> argv_pointers;                           // what S_JOB_ARGV gives out
    std::map<std::string, std::optional<std::string>> options;  // given: name and value
    std::map<std::string, int (*)(int, char const*, int)> registered;
    std::map<std::string, int> option_values;  // what the callback of each option wants to be called with
    std::vector<std::string> errors;           // what slurm_error was told

    /// The call, counted from 0, that says ESPANK_ERROR.
    std::optional<int> failing_call;
    bool fails = false;  // every call does
    int calls = 0;

    /// Counts a call; whether it fails.
    bool next_call_fails() { return calls++ == failing_call || fails; }
};

FakeSpank& fake_spank();
