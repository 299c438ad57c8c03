#pragma once
#include <det/protocol/json.hpp>
#include <det/telemetry/waits/straggler.hpp>
#include <det/tracker/history/experiment_view.hpp>

#include <optional>
#include <string>
#include <vector>

namespace det::cli {

/// How long the ranks of a trial's last run waited for each other in its last minute.
struct RankWaitSummary {
    std::uint32_t run = 0;
    bool has_ended = false;
    std::vector<std::string> hosts;
    std::chrono::seconds period{60};  // shorter if the run is or was shorter
    telemetry::RunWaits waits;
    std::optional<telemetry::Straggler> straggler;
};

/// Reads the waits of the trial's last run. nullopt if it has none, if it has not run for a second, or if no
/// waits are recorded.
/// \param trial its directory, in the present revision of its experiment
Result<std::optional<RankWaitSummary>> load_rank_wait_summary(TrialLayout const& trial,
                                                              tracker::history::TrialView const& view,
                                                              UtcTime now);

/// "Waiting: ranks 0-2 wait for rank 3 on node n1 in allreduce: 41 % of the last 60 s"; empty if no rank is
/// awaited for long.
std::string straggler_text(std::optional<RankWaitSummary> const& summary);
/// Null without a summary.
Json to_json(std::optional<RankWaitSummary> const& summary);

}  // namespace det::cli
