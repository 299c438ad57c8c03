#pragma once
#include <det/launch/supervisor/supervise.hpp>

#include <cstdint>
#include <filesystem>
#include <string>

namespace det::launch::supervisor {

/// Starts and ends 16 empty steps, so that the next step of this job gets a number that an earlier
/// incarnation has not used. After a network partition, srun and the PMIx plugin of the lost run reach
/// slurmctld again and end their steps; slurmctld knows steps by job and number only and would end the new
/// run's step.
void skip_step_numbers(SupervisorContext const& context);

/// A TCP port that was free on this host a moment ago; 0 if none was found.
std::uint16_t find_free_port();

/// Size of a regular file; 0 for anything else, such as a pipe, which can't be read again.
std::uint64_t output_size_bytes(std::filesystem::path const& output);

/// The first error that srun wrote to the file after `begin_bytes`, without its "srun: error: "; empty if
/// there is none.
std::string find_srun_error(std::filesystem::path const& output, std::uint64_t begin_bytes);

}  // namespace det::launch::supervisor
