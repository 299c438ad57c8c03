#include <det/foundation/sha256.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/json_number.hpp>
#include <det/search/trial_search.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <limits>

namespace det::search {
namespace {

std::string list_names(Json const& metrics) {
    std::vector<std::string> names;
    for (auto const& [name, value] : metrics.items()) names.push_back(escape_control(name));
    return names.empty() ? "nothing" : join(names, ", ");
}

/// The number of a reported value. Programs of older releases have written null for NaN.
std::optional<double> find_number(Json const& value) {
    return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : number_from_json(value);
}

/// The number of a metric. `key` is the configuration key that names the metric.
Result<double> require_metric(MetricsReported const& report, std::string const& name, std::string_view key) {
    Json const& metrics = report.metrics;
    auto const found = metrics.find(name);
    auto const where = fmt::format("the validation at step {}", report.steps_completed);
    if (found == metrics.end()) {
        return Error{
            codes::bad_value,
            fmt::format("{} reports no '{}' ({}); it reports {}", where, name, key, list_names(metrics)),
            fmt::format("report it, or set {} to the name of a reported metric", key)};
    }
    if (auto const number = find_number(*found)) return *number;
    return Error{codes::bad_value, fmt::format("{} reports '{}' ({}) as {}, which is not a number", where,
                                               name, key, escape_control(to_line(*found).substr(0, 80)))};
}

Result<double> find_time(MetricsReported const& report, ReportFormat const& format) {
    auto const& length = format.length;
    if (!length.time_metric.empty())
        return require_metric(report, length.time_metric, "searcher.time_metric");
    auto const by_unit = report.metrics->find(std::string(to_string(length.unit)));
    if (by_unit != report.metrics->end() && by_unit->is_number()) return by_unit->get<double>();
    return to_unit(report.steps_completed, length.unit, format.batch_size);
}

std::vector<std::uint32_t> trials_of(std::span<RungEntry const> entries) {
    std::vector<std::uint32_t> trials;
    for (auto const& entry : entries) trials.push_back(entry.trial);
    return trials;
}

std::optional<RungEntry> find_entry(std::span<RungEntry const> entries, std::uint32_t trial) {
    auto const found = std::ranges::find(entries, trial, &RungEntry::trial);
    return found == entries.end() ? std::nullopt : std::optional(*found);
}

Result<std::vector<RungEntry>> load_rung(RungStore const& store, std::uint32_t bracket, std::uint32_t rung) {
    DET_TRY_ASSIGN(auto const names, store.list(bracket, rung));
    return parse_rung(names);
}

/// \return The entry that counts for the trial of `added`. That is an earlier entry if a run of the trial
/// that was cut off from the network has added one. If the listing has no entry of the trial yet, inserts
/// `added`.
RungEntry require_own(std::vector<RungEntry>& entries, RungEntry const& added) {
    if (auto const listed = find_entry(entries, added.trial)) return *listed;
    entries.insert(std::ranges::upper_bound(entries, added.trial, {}, &RungEntry::trial), added);
    return added;
}

}  // namespace

Result<SearchReport> read_report(MetricsReported const& report, ReportFormat const& format) {
    SearchReport read;
    read.steps_completed = report.steps_completed;
    DET_TRY_ASSIGN(read.metric, require_metric(report, format.metric, "searcher.metric"));
    DET_TRY_ASSIGN(read.time, find_time(report, format));
    return read;
}

/// Adds the trial's entry at its current rung, unless an earlier process has added one, which then counts.
Result<RungEntry> TrialSearch::add_entry(double metric, RungStore& store) const {
    if (is_resumed_) {
        DET_TRY_ASSIGN(auto const entries, load_rung(store, bracket_, rung_));
        if (auto const earlier = find_entry(entries, trial_)) return *earlier;
    }
    RungEntry const own{trial_, metric};
    DET_TRY(store.add(bracket_, rung_, rung_entry_name(own)));
    return own;
}

bool TrialSearch::reaches_rung(SearchReport const& report) const {
    auto const& lengths = search_.brackets.at(bracket_).rung_lengths;
    return !end_ && report.time >= static_cast<double>(lengths.at(rung_));
}

Result<std::optional<SearchDecision>> TrialSearch::decide(SearchReport const& report,
                                                          RungStore& store) const {
    if (!reaches_rung(report)) return std::optional<SearchDecision>();
    auto const& lengths = search_.brackets.at(bracket_).rung_lengths;
    DET_TRY_ASSIGN(auto const added, add_entry(report.metric, store));
    DET_TRY_ASSIGN(auto entries, load_rung(store, bracket_, rung_));
    auto const own = require_own(entries, added);
    RungRule const rule{search_.divisor, search_.smaller_is_better, rung_ + 1 == lengths.size()};
    auto const verdict = decide_at_rung(entries, own, rule);
    SearchDecision decision;
    decision.steps_completed = report.steps_completed;
    decision.bracket = bracket_;
    decision.rung = rung_;
    decision.entry = rung_entry_name(own);
    decision.trials = render_trial_ranges(trials_of(entries));
    decision.digest = digest_of(entries);
    decision.better_trials = verdict.better_trials;
    decision.kept_trials = verdict.kept_trials;
    decision.decision = to_string(verdict.decision);
    return std::optional(std::move(decision));
}

void TrialSearch::apply(SearchDecision const& decision) {
    auto const kind = find_rung_decision(decision.decision);
    if (!kind) return;
    if (kind == RungDecision::advance) {
        rung_ = decision.rung + 1;
        end_.reset();
    } else {
        rung_ = decision.rung;
        end_ = decision;
    }
}

Status TrialSearch::add_failure(RungStore& store) const {
    if (end_) return Ok{};
    DET_TRY(add_entry(std::numeric_limits<double>::quiet_NaN(), store));
    return Ok{};
}

Status TrialSearch::remove_entries(RungStore& store) const {
    auto const rungs = static_cast<std::uint32_t>(search_.brackets.at(bracket_).rung_lengths.size());
    for (std::uint32_t rung = 0; rung < rungs; ++rung) {
        DET_TRY_ASSIGN(auto const names, store.list(bracket_, rung));
        for (auto const& name : names) {
            auto const entry = parse_rung_entry_name(name);
            if (entry && entry->trial == trial_) DET_TRY(store.remove(bracket_, rung, name));
        }
    }
    return Ok{};
}

std::string describe(SearchDecision const& decision) {
    auto const trials = parse_trial_ranges(decision.trials);
    return fmt::format("{} of {} trials at rung {} are better, {} train on", decision.better_trials,
                       trials ? trials->size() : 0, decision.rung, decision.kept_trials);
}

std::string digest_of(std::span<RungEntry const> entries) {
    std::string names;
    for (auto const& entry : entries) {
        append_rung_entry_name(names, entry);
        names += '\n';
    }
    Sha256 hash;
    hash.update(names);
    return hash.finish();
}

}  // namespace det::search
