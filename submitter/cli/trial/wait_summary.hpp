#pragma once
#include <det/protocol/json.hpp>
#include <det/telemetry/waits/straggler.hpp>
#include <det/tracker/history/view.hpp>

#include <optional>
#include <string>
#include <vector>

namespace det::cli {

/// How long the ranks of a trial's last run waited for each other in its last minute.
struct WaitSummary {
    std::uint32_t run = 0;
    bool has_ended = false;
    std::vector<std::string> hosts;
    std::chrono::seconds period{60};  // shorter if the run is or was shorter
    telemetry::RunWaits waits;
    std::optional<telemetry::Straggler> straggler;
};

/// Reads the waits of the trial's last run. nullopt if it has none, or has not run for a second.
/// \param trial its directory, in the present revision of its experiment
Result<std::optional<WaitSummary>> load_wait_summary(TrialLayout const& trial,
                                                     tracker::history::TrialView const& view, UtcTime now);

/// "Waiting: ranks 0-2 wait for rank 3 on node n1 in allreduce: 41 % of the last 60 s"; empty if no rank is
/// awaited for long.
std::string wait_text(std::optional<WaitSummary> const& summary);
/// Null without a summary.
Json to_json(std::optional<WaitSummary> const& summary);

}  // namespace det::cli
