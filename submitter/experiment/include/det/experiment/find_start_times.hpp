#pragma once
#include <det/experiment/context.hpp>
#include <det/experiment/submission_request.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace det::experiment {

/// The most probes that find_start_times() makes.
inline constexpr std::size_t start_probes_max = 40;

/// When a trial of that size would start, as Slurm estimates it now.
struct StartTime {
    std::string pool;
    std::int64_t slots = 0;
    int nodes = 0;
    std::int64_t time_limit_s = 0;
    std::optional<UtcTime> start;  // nullopt: unknown
    std::string unknown_because;   // why Slurm can't tell; may be empty
};

/// Asks Slurm (`sbatch --test-only`) when the first trial of an experiment would start with other sizes, time
/// limits and pools, at most start_probes_max times. Leaves out combinations that Slurm refuses.
/// \return The answers, the earliest start first, and of equal starts the most slots. An error if the
/// configuration as it is written can't be submitted, or if Slurm does not answer.
Result<std::vector<StartTime>, Diagnostics> find_start_times(SubmissionOptions const& options,
                                                             Context& context);

/// Reads a time that Slurm wrote in the local time zone: "2026-11-21T16:20:00". A time after the year 9999 is
/// the latest UtcTime.
std::optional<UtcTime> parse_local_time(std::string_view text);

}  // namespace det::experiment
