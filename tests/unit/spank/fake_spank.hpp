#pragma once
#include <map>
#include <string>
#include <vector>

/// Stands in for slurmstepd: SPANK's functions live in the host process, so a test links its own.
struct FakeSpank {
    std::map<std::string, std::string> environment;
    unsigned step_id = 0;
    std::vector<std::string> argv;
    std::vector<char*> argv_pointers;  // what S_JOB_ARGV gives out
    bool fails = false;                // every call says ESPANK_ERROR
};

FakeSpank& fake_spank();
