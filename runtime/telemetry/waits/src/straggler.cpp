#include <det/foundation/count_text.hpp>
#include <det/telemetry/waits/straggler.hpp>

#include <algorithm>
#include <fmt/format.h>

namespace det::telemetry {
namespace {

/// The rank for which some rank has waited the longest, and the time.
struct LongestWait {
    int awaited = 0;
    double seconds = 0;
};

std::optional<LongestWait> longest_wait(RunWaits const& waits, int rank) {
    auto const found = waits.find(rank);
    if (found == waits.end()) return std::nullopt;
    std::optional<LongestWait> longest;
    for (auto const& [awaited, seconds] : found->second.seconds_for) {
        if (!longest || seconds > longest->seconds) longest = {awaited, seconds};
    }
    return longest;
}

/// Follows the longest waits from rank to rank. Stops at the rank whose own longest wait is less than half of
/// the first. nullopt if the ranks wait in a circle.
std::optional<int> end_of_chain(RunWaits const& waits, LongestWait const& first) {
    // A rank that waited half of the time did not cause the larger part of the wait.
    constexpr double passes_on = 0.5;
    int rank = first.awaited;
    for (std::size_t steps = 0; steps <= waits.size(); ++steps) {
        auto const next = longest_wait(waits, rank);
        if (!next || next->seconds < passes_on * first.seconds) return rank;
        rank = next->awaited;
    }
    return std::nullopt;  // a circle
}

void add_waits_of(Straggler& straggler, std::map<std::string, double>& operations, int rank,
                  RankWaitTime const& waits, double seconds) {
    straggler.waiting_ranks.push_back(rank);
    straggler.seconds = std::max(straggler.seconds, seconds);
    for (auto const& [operation, waited] : waits.seconds_in) operations[operation] += waited;
}

std::string longest_of(std::map<std::string, double> const& operations) {
    auto const longest =
        std::ranges::max_element(operations, {}, [](auto const& each) { return each.second; });
    return longest == operations.end() ? std::string() : longest->first;
}

std::string_view verb_of(std::vector<int> const& ranks) { return ranks.size() == 1 ? "waits" : "wait"; }

}  // namespace

std::optional<Straggler> find_straggler(RunWaits const& waits, std::chrono::duration<double> period) {
    struct Candidate {
        double sum = 0;
        Straggler straggler;
        std::map<std::string, double> operations;
    };
    std::map<int, Candidate> candidates;
    for (auto const& [rank, waited] : waits) {
        auto const longest = longest_wait(waits, rank);
        if (!longest || longest->seconds < straggler_share_min * period.count()) continue;
        auto const end = end_of_chain(waits, *longest);
        if (!end || *end == rank) continue;
        auto& candidate = candidates[*end];
        candidate.sum += longest->seconds;
        add_waits_of(candidate.straggler, candidate.operations, rank, waited, longest->seconds);
    }
    auto const best =
        std::ranges::max_element(candidates, {}, [](auto const& each) { return each.second.sum; });
    if (best == candidates.end()) return std::nullopt;
    auto straggler = best->second.straggler;
    straggler.rank = best->first;
    if (auto const own = waits.find(straggler.rank); own != waits.end()) straggler.node = own->second.node;
    straggler.operation = longest_of(best->second.operations);
    straggler.share = std::min(straggler.seconds / period.count(), 1.0);
    return straggler;
}

std::string describe_straggler(Straggler const& straggler, std::vector<std::string> const& hosts) {
    auto const node = static_cast<std::size_t>(straggler.node);
    auto const place = straggler.node >= 0 && node < hosts.size() ? " on node " + hosts[node] : "";
    return fmt::format("{} {} for rank {}{}{}{}", describe_ranks(straggler.waiting_ranks),
                       verb_of(straggler.waiting_ranks), straggler.rank, place,
                       straggler.operation.empty() ? "" : " in ", straggler.operation);
}

std::vector<std::string> describe_waits(RunWaits const& waits) {
    struct Waiting {
        std::vector<int> ranks;
        double seconds = 0;
        std::map<std::string, double> operations;
    };
    std::map<int, Waiting> by_awaited;
    for (auto const& [rank, waited] : waits) {
        auto const longest = longest_wait(waits, rank);
        if (!longest) continue;
        auto& waiting = by_awaited[longest->awaited];
        waiting.ranks.push_back(rank);
        waiting.seconds = std::max(waiting.seconds, longest->seconds);
        for (auto const& [operation, seconds] : waited.seconds_in) waiting.operations[operation] += seconds;
    }
    std::vector<std::pair<int, Waiting>> sorted(by_awaited.begin(), by_awaited.end());
    std::ranges::stable_sort(sorted, std::ranges::greater(),
                             [](auto const& each) { return each.second.seconds; });
    std::vector<std::string> lines;
    for (auto const& [awaited, waiting] : sorted) {
        lines.push_back(fmt::format("{} {} for rank {} in {} ({:.1f} s)", describe_ranks(waiting.ranks),
                                    verb_of(waiting.ranks), awaited, longest_of(waiting.operations),
                                    waiting.seconds));
    }
    return lines;
}

std::string describe_ranks(std::vector<int> const& ascending) {
    constexpr int ranges_max = 8;
    std::string text;
    int ranges = 0;
    for (std::size_t begin = 0, end = 0; begin < ascending.size(); begin = end) {
        if (ranges++ == ranges_max) {
            text += fmt::format(" and {} more", ascending.size() - begin);
            break;
        }
        for (end = begin + 1; end < ascending.size() && ascending[end] == ascending[end - 1] + 1;) ++end;
        if (begin > 0) text += ',';
        text += std::to_string(ascending[begin]);
        if (end - begin > 1) text += fmt::format("{}{}", end - begin > 2 ? '-' : ',', ascending[end - 1]);
    }
    return plural("rank", ascending.size()) + " " + text;
}

}  // namespace det::telemetry
