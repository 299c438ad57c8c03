#include "trial/rank_wait_summary.hpp"

#include <det/foundation/text.hpp>
#include <det/protocol/host_list.hpp>

#include <algorithm>
#include <fmt/format.h>

namespace det::cli {
namespace {

using tracker::history::TrialView;

constexpr std::chrono::seconds period_max{60};

/// The end of a run, as far as it is known: a run whose supervisor was killed has no recorded end.
std::optional<UtcTime> end_of(lifecycle::RunView const& run, TrialView const& view, UtcTime now) {
    if (run.ended) return run.ended->time;
    return view.state == lifecycle::State::running ? std::optional(now) : std::nullopt;
}

Json node_json(int node, std::vector<std::string> const& hosts) {
    auto const index = static_cast<std::size_t>(node);
    return node >= 0 && index < hosts.size() ? Json(hosts[index]) : Json(nullptr);
}

Json rank_json(int rank, telemetry::RankWaitTime const& waits, std::vector<std::string> const& hosts) {
    auto waited_for = Json::array();
    for (auto const& [awaited, seconds] : waits.seconds_for)
        waited_for.push_back({{"rank", awaited}, {"seconds", seconds}});
    return {{"rank", rank},
            {"host", node_json(waits.node, hosts)},
            {"operations", waits.operations},
            {"seconds", waits.waited_s()},
            {"seconds_in", waits.seconds_in},
            {"waited_for", std::move(waited_for)}};
}

Json straggler_json(telemetry::Straggler const& straggler, std::vector<std::string> const& hosts) {
    return {{"rank", straggler.rank},           {"host", node_json(straggler.node, hosts)},
            {"operation", straggler.operation}, {"waiting_ranks", straggler.waiting_ranks},
            {"seconds", straggler.seconds},     {"share", straggler.share}};
}

}  // namespace

Result<std::optional<RankWaitSummary>> load_rank_wait_summary(TrialLayout const& trial, TrialView const& view,
                                                              UtcTime now) {
    std::optional<RankWaitSummary> none;
    auto const& runs = view.record.runs;
    if (runs.empty() || !runs.back().started) return none;
    auto const& run = runs.back();
    RankWaitSummary summary;
    summary.run = static_cast<std::uint32_t>(runs.size() - 1);
    summary.has_ended = view.state != lifecycle::State::running;
    DET_TRY_ASSIGN(summary.hosts, expand_host_list(run.started->hosts));
    auto const end = end_of(run, view, now);
    if (end) {
        std::chrono::microseconds const length(end->microseconds - run.started->time.microseconds);
        summary.period = std::min(period_max, std::chrono::floor<std::chrono::seconds>(length));
    }
    if (summary.period.count() < 1) return none;
    DET_TRY_ASSIGN(summary.waits,
                   telemetry::load_waits(trial.run(summary.run), static_cast<int>(summary.hosts.size()),
                                         {end, summary.period}));
    if (summary.waits.empty()) return none;
    summary.straggler = telemetry::find_straggler(summary.waits, summary.period);
    return std::optional(std::move(summary));
}

std::string straggler_text(std::optional<RankWaitSummary> const& summary) {
    if (!summary || !summary->straggler) return "";
    return fmt::format("Waiting: {}: {:.0f} % of the last {} s{}\n",
                       escape_control(telemetry::describe_straggler(*summary->straggler, summary->hosts)),
                       summary->straggler->share * 100, summary->period.count(),
                       summary->has_ended ? fmt::format(" of run {}", summary->run) : "");
}

Json to_json(std::optional<RankWaitSummary> const& summary) {
    if (!summary) return nullptr;
    auto ranks = Json::array();
    for (auto const& [rank, waits] : summary->waits) ranks.push_back(rank_json(rank, waits, summary->hosts));
    return {{"run", summary->run},
            {"period_s", summary->period.count()},
            {"straggler",
             summary->straggler ? straggler_json(*summary->straggler, summary->hosts) : Json(nullptr)},
            {"ranks", std::move(ranks)}};
}

}  // namespace det::cli
