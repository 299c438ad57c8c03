#pragma once
#include <nlohmann/json.hpp>
#include <string_view>

/// What every backend must read of the jobs that tests/support/slurm-jobs makes; `jobs` is what that printed,
/// `readings` is of readings_of().
void check_readings(nlohmann::json const& readings, std::string_view jobs);
