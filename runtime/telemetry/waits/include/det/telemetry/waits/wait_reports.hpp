#pragma once
#include <det/liveness/wait_page.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace det::telemetry {

/// The group of the metrics of how long ranks wait for each other in collective operations.
inline constexpr char waits_group[] = "waits";

/// How long one rank has waited since its last report. A name is that of the table, a space and the rank that
/// waited: "waited.allreduce 3".
///
/// | metric | value |
/// |---|---|
/// | operations | collective operations that the rank has begun |
/// | waited.OPERATION | seconds that it waited in this operation, for example waited.allreduce |
/// | waited_for.RANK | seconds that it waited for this rank |
struct WaitReport {
    std::vector<std::string> names;
    std::vector<double> values;
};

/// Turns readings of a node's WaitPage into reports. Touches no files. Not thread-safe.
class WaitReporter {
public:
    /// The reports of the ranks that have joined since the last call, and of those that have waited at least
    /// `reported_min` since their last report. Shorter waits are added to a later report.
    std::vector<WaitReport> take(std::vector<liveness::RankWaits> const& ranks,
                                 std::chrono::milliseconds reported_min);

private:
    std::map<int, liveness::RankWaits> reported_;  // by rank
};

/// A number that grows whenever a rank begins a collective operation or stops waiting for another rank. It
/// does not grow while ranks wait.
std::uint64_t activity_of(std::vector<liveness::RankWaits> const& ranks);

}  // namespace det::telemetry
