#include "trial/node_profile.hpp"

#include <det/foundation/files.hpp>
#include <det/journal/reader.hpp>
#include <det/protocol/host_list.hpp>

namespace det::cli {

Result<std::vector<NodeProfile>> load_node_profiles(RunLayout const& run, ProfiledPeriod const& period) {
    std::vector<NodeProfile> nodes;
    DET_TRY_ASSIGN(auto const life, journal::load_journal(run.supervisor_journal()));
    if (life.records.empty()) return nodes;
    auto const* const started = std::get_if<RunStarted>(&life.records.front());
    if (started == nullptr) return nodes;
    DET_TRY_ASSIGN(auto const hosts, expand_host_list(started->hosts));
    for (int index = 0; index < static_cast<int>(hosts.size()); ++index) {
        if (!path_exists(run.node_metrics(index))) continue;
        DET_TRY_ASSIGN(auto const journal, journal::load_journal(run.node_metrics(index)));
        auto metrics = summarise_metrics(journal.records, period);
        if (!metrics.empty())
            nodes.push_back({index, hosts[static_cast<std::size_t>(index)], std::move(metrics)});
    }
    return nodes;
}

}  // namespace det::cli
