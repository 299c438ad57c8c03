#include <det/foundation/text.hpp>
#include <det/protocol/compare_metrics.hpp>
#include <det/protocol/ids.hpp>
#include <det/search/rung.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fmt/compile.h>
#include <iterator>

namespace det::search {
namespace {

constexpr std::array<std::string_view, 3> decision_names{"advance", "stop", "complete"};

std::optional<double> parse_metric(std::string_view text) {
    double value = 0;
    auto const* const end = text.data() + text.size();
    auto const [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc{} || stop != end) return std::nullopt;
    return value;
}

}  // namespace

std::uint32_t count_kept(std::size_t entries, double divisor) {
    auto const share = static_cast<double>(entries) / divisor;
    return std::max<std::uint32_t>(static_cast<std::uint32_t>(share), 1);
}

std::string_view to_string(RungDecision decision) {
    return decision_names.at(static_cast<std::size_t>(decision));
}

std::optional<RungDecision> find_rung_decision(std::string_view name) {
    auto const found = std::ranges::find(decision_names, name);
    if (found == decision_names.end()) return std::nullopt;
    return static_cast<RungDecision>(found - decision_names.begin());
}

RungVerdict decide_at_rung(std::span<RungEntry const> entries, RungEntry const& own, RungRule const& rule) {
    auto const better = std::ranges::count_if(entries, [&](auto const& entry) {
        return entry.trial != own.trial && is_better(entry.metric, own.metric, rule.smaller_is_better);
    });
    RungVerdict verdict;
    verdict.better_trials = static_cast<std::uint32_t>(better);
    verdict.kept_trials = count_kept(entries.size(), rule.divisor);
    if (rule.is_last) {
        verdict.decision = RungDecision::complete;
    } else if (verdict.better_trials >= verdict.kept_trials) {
        verdict.decision = RungDecision::stop;
    }
    return verdict;
}

void append_rung_entry_name(std::string& text, RungEntry const& entry) {
    if (std::isnan(entry.metric)) {
        fmt::format_to(std::back_inserter(text), FMT_COMPILE("{}@nan"), entry.trial);
    } else {
        fmt::format_to(std::back_inserter(text), FMT_COMPILE("{}@{}"), entry.trial, entry.metric);
    }
}

std::string rung_entry_name(RungEntry const& entry) {
    std::string text;
    append_rung_entry_name(text, entry);
    return text;
}

std::optional<RungEntry> parse_rung_entry_name(std::string_view name) {
    auto const at = name.find('@');
    if (at == std::string_view::npos) return std::nullopt;
    auto const trial = parse_integer<std::uint32_t>(name.substr(0, at));
    auto const metric = parse_metric(name.substr(at + 1));
    if (!trial || *trial >= trials_per_experiment_max || !metric) return std::nullopt;
    return RungEntry{*trial, *metric};
}

std::vector<RungEntry> parse_rung(std::span<std::string const> names) {
    std::vector<std::pair<RungEntry, std::string_view>> found;
    found.reserve(names.size());
    for (auto const& name : names) {
        if (auto const entry = parse_rung_entry_name(name)) found.emplace_back(*entry, name);
    }
    std::ranges::sort(found, [](auto const& a, auto const& b) {
        return a.first.trial != b.first.trial ? a.first.trial < b.first.trial : a.second < b.second;
    });
    auto const repeated = std::ranges::unique(found, {}, [](auto const& item) { return item.first.trial; });
    found.erase(repeated.begin(), repeated.end());
    std::vector<RungEntry> entries;
    entries.reserve(found.size());
    for (auto const& item : found) entries.push_back(item.first);
    return entries;
}

std::string render_trial_ranges(std::span<std::uint32_t const> trials) {
    std::string text;
    for (std::size_t first = 0; first < trials.size();) {
        auto last = first;
        while (last + 1 < trials.size() && trials[last + 1] == trials[last] + 1) ++last;
        text += fmt::format("{}{}", text.empty() ? "" : ",", trials[first]);
        if (last > first) text += fmt::format("-{}", trials[last]);
        first = last + 1;
    }
    return text;
}

Result<std::vector<std::uint32_t>> parse_trial_ranges(std::string_view text) {
    std::vector<std::uint32_t> trials;
    auto const refusal =
        Error{codes::bad_value, fmt::format("'{}' is not a list of trials", escape_control(text))};
    if (text.empty()) return trials;
    for (auto const range : split(text, ',')) {
        auto const dash = range.find('-');
        auto const first = parse_integer<std::uint32_t>(range.substr(0, dash));
        auto const last =
            dash == std::string_view::npos ? first : parse_integer<std::uint32_t>(range.substr(dash + 1));
        if (!first || !last || *last < *first || *last >= trials_per_experiment_max) return refusal;
        if (!trials.empty() && *first <= trials.back()) return refusal;
        for (auto trial = *first; trial <= *last; ++trial) trials.push_back(trial);
    }
    return trials;
}

}  // namespace det::search
