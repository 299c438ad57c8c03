#pragma once
#include <det/foundation/clock.hpp>
#include <det/foundation/result.hpp>
#include <det/protocol/directory_layout.hpp>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace det::telemetry {

/// How long a rank has waited in a period.
struct RankWaitTime {
    int node = -1;  // index of its node in the run
    double operations = 0;
    std::map<std::string, double> seconds_in;  // by operation
    std::map<int, double> seconds_for;         // by awaited rank

    double waited_s() const;
};

/// The ranks that have made reports, by rank. A rank that is not among them has begun no collective operation
/// of det, or its node has not written its first report yet.
using RunWaits = std::map<int, RankWaitTime>;

/// Adds the reports of a node's journal that were made after `since`. All ranks of the journal get an entry.
/// Pure. codes::damaged if the bytes are no journal, codes::newer_format if a newer program wrote it; a torn
/// or damaged end is ignored.
Status add_waits(RunWaits& waits, std::string_view journal, int node, UtcTime since);
/// The time of the last report in a node's journal. Pure; errors as above.
Result<std::optional<UtcTime>> last_wait_report_time(std::string_view journal);

struct WaitPeriod {
    std::optional<UtcTime> end;  // nullopt: the last report of the run
    std::chrono::seconds length{60};
};
/// Reads how long the ranks of a run have waited in a period. Nodes without a journal are left out. A report
/// counts if it was made after the period began, also if it was made after its end. It covers the time since
/// the report before it, which may begin before the period.
Result<RunWaits> load_waits(RunLayout const& run, int nodes, WaitPeriod const& period);

}  // namespace det::telemetry
