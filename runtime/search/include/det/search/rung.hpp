#pragma once
#include <det/foundation/result.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace det::search {

/// The report with which a trial arrived at a rung.
struct RungEntry {
    std::uint32_t trial = 0;
    /// The searcher's metric. NaN: the trial failed, or reported NaN. NaN is worse than every number.
    double metric = 0;
};

/// What a trial does after it arrived at a rung.
enum class RungDecision : std::uint8_t {
    advance,   // trains on to the next rung
    stop,      // too many trials of the rung are better
    complete,  // it was the last rung
};

std::string_view to_string(RungDecision decision);
std::optional<RungDecision> find_rung_decision(std::string_view name);

/// How a rung compares trials.
struct RungRule {
    double divisor = 4;
    bool smaller_is_better = true;
    bool is_last = false;  // the last rung of its bracket
};

struct RungVerdict {
    RungDecision decision = RungDecision::advance;
    std::uint32_t better_trials = 0;  // number of the other trials with a better metric
    std::uint32_t kept_trials = 0;    // a trial trains on if fewer trials than this are better
};

/// How many of the trials of a rung train on: the best 1/divisor, at least one.
std::uint32_t count_kept(std::size_t entries, double divisor);

/// Decides about a trial that has arrived at a rung. A trial with the same metric does not count as better,
/// so that a tie favours the trial that decides. Pure.
/// \param entries all trials that have arrived, with the trial itself, in any order
/// \param own the entry of the trial that decides
RungVerdict decide_at_rung(std::span<RungEntry const> entries, RungEntry const& own, RungRule const& rule);

/// The name of the file that records a trial's arrival: "12@0.25". Reading it gives the same metric again.
std::string rung_entry_name(RungEntry const& entry);
/// Appends rung_entry_name(entry) to `text`.
void append_rung_entry_name(std::string& text, RungEntry const& entry);
/// nullopt if the name is not that of an entry, for example that of a temporary file.
std::optional<RungEntry> parse_rung_entry_name(std::string_view name);

/// The entries that count, sorted by trial. Names that are no entries are ignored. If a trial has several
/// entries, the one whose name comes first in byte order counts. A trial has several if a run on a node that
/// was cut off from the network has reported too.
std::vector<RungEntry> parse_rung(std::span<std::string const> names);

/// Renders a list of trials as ranges: "0-12,15". `trials` is sorted, without duplicates.
std::string render_trial_ranges(std::span<std::uint32_t const> trials);
/// Parses a list that render_trial_ranges() renders. codes::bad_value if the text is no list, or if its
/// trials are not in ascending order.
Result<std::vector<std::uint32_t>> parse_trial_ranges(std::string_view text);

}  // namespace det::search
