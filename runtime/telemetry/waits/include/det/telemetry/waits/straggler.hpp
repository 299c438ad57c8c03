#pragma once
#include <det/telemetry/waits/run_waits.hpp>

#include <optional>
#include <string>
#include <vector>

namespace det::telemetry {

/// The rank for which other ranks wait.
struct Straggler {
    int rank = 0;
    int node = -1;                   // index of its node; -1: it has made no report
    std::vector<int> waiting_ranks;  // ascending
    std::string operation;           // in which these ranks waited the longest
    double seconds = 0;              // the longest time that one of them waited
    double share = 0;                // of the period, 0 to 1
};

/// Waits of a rank that are shorter than this share of the period do not count for find_straggler().
inline constexpr double straggler_share_min = 0.05;

/// Finds the rank that makes the others wait. If rank A waits for rank B, and B itself waits for rank C for
/// at least half of that time, A in fact waits for C: such chains are followed to their end. Of several ends,
/// the one for which the others wait the longest in sum counts; of equal ones the lowest rank. A circle of
/// ranks that wait for each other has no end.
/// \return nullopt if no wait is long enough (straggler_share_min) or no chain has an end
/// \param period the time that the waits cover; above 0
std::optional<Straggler> find_straggler(RunWaits const& waits, std::chrono::duration<double> period);

/// Formats like "ranks 0-2 wait for rank 3 on node n1 in allreduce".
/// \param hosts the names of the run's nodes
std::string describe_straggler(Straggler const& straggler, std::vector<std::string> const& hosts);

/// Lists which ranks wait for which rank, for example "ranks 0-2 wait for rank 3 in allreduce (59.8 s)": one
/// line for each awaited rank, the longest wait first. Of each waiting rank only its longest wait is listed.
std::vector<std::string> describe_waits(RunWaits const& waits);

/// Formats like "rank 3" or "ranks 0-2,5". After eight ranges the list ends like "and 37 more".
std::string describe_ranks(std::vector<int> const& ascending);

}  // namespace det::telemetry
