#pragma once
#include <det/slurm/job.hpp>

#include <optional>
#include <string>
#include <vector>

namespace det::queue {

/// When a waiting job starts, as far as Slurm can tell.
struct StartEstimate {
    std::optional<UtcTime> time;  // nullopt: unknown
    std::string
        unknown_because;  // why Slurm's estimate says nothing; empty if it does, or if Slurm gives none
};

/// Evaluates Slurm's estimates. Slurm assumes that a job without a time limit runs for a year. An estimate
/// that is not before the end of such a job says nothing about the start.
class StartEstimates {
public:
    StartEstimates(std::vector<slurm::JobStatus> const& queue, UtcTime now);
    StartEstimate evaluate(std::optional<UtcTime> slurms_estimate) const;

private:
    UtcTime first_assumed_end_;
};

}  // namespace det::queue
