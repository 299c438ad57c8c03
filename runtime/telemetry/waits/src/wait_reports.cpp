#include <det/telemetry/waits/wait_reports.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

namespace det::telemetry {
namespace {

constexpr double ns_per_second = 1e9;

/// The increase of a number since the last report. A smaller number has started again at zero, because the
/// WaitPage had left out the awaited rank in between (RankWaits::waited_for).
std::uint64_t increase(std::uint64_t before, std::uint64_t now) { return now < before ? now : now - before; }

std::uint64_t waited_ns_for(liveness::RankWaits const& waits, int rank) {
    auto const found = std::ranges::find(waits.waited_for, rank, &liveness::RankWaits::ForRank::rank);
    return found == waits.waited_for.end() ? 0 : found->ns;
}

WaitReport make_report(liveness::RankWaits const& before, liveness::RankWaits const& now) {
    WaitReport report;
    auto const add = [&](std::string name, double value) {
        report.names.push_back(fmt::format("{} {}", name, now.rank));
        report.values.push_back(value);
    };
    add("operations", static_cast<double>(increase(before.operations_begun, now.operations_begun)));
    for (std::size_t i = 0; i < liveness::wait_operation_count; ++i) {
        auto const ns = increase(before.waited_ns[i], now.waited_ns[i]);
        if (ns == 0) continue;
        add(fmt::format("waited.{}", to_string(static_cast<liveness::WaitOperation>(i))),
            static_cast<double>(ns) / ns_per_second);
    }
    for (auto const& awaited : now.waited_for) {
        auto const ns = increase(waited_ns_for(before, awaited.rank), awaited.ns);
        if (ns == 0) continue;
        add(fmt::format("waited_for.{}", awaited.rank), static_cast<double>(ns) / ns_per_second);
    }
    return report;
}

std::uint64_t waited_ns(liveness::RankWaits const& before, liveness::RankWaits const& now) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < liveness::wait_operation_count; ++i)
        sum += increase(before.waited_ns[i], now.waited_ns[i]);
    return sum;
}

}  // namespace

std::vector<WaitReport> WaitReporter::take(std::vector<liveness::RankWaits> const& ranks,
                                           std::chrono::milliseconds reported_min) {
    auto const min_ns = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(reported_min).count());
    std::vector<WaitReport> reports;
    for (auto const& now : ranks) {
        auto const [before, is_new] = reported_.try_emplace(now.rank);
        if (!is_new && waited_ns(before->second, now) < min_ns) continue;
        reports.push_back(make_report(before->second, now));
        before->second = now;
    }
    return reports;
}

std::uint64_t activity_of(std::vector<liveness::RankWaits> const& ranks) {
    return std::accumulate(ranks.begin(), ranks.end(), std::uint64_t{0}, [](auto sum, auto const& rank) {
        return sum + rank.operations_begun + rank.waits_ended;
    });
}

}  // namespace det::telemetry
