#pragma once
#include <nlohmann/json.hpp>
#include <string_view>

/// Checks that a backend has read the jobs of tests/support/slurm-jobs correctly. `jobs` is the output of
/// slurm-jobs, `readings` the result of readings_of().
void check_readings(nlohmann::json const& readings, std::string_view jobs);
