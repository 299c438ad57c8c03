#include <det/foundation/foreign_tree.hpp>
#include <det/foundation/text.hpp>
#include <det/foundation/trusted_file.hpp>
#include <det/journal/damage.hpp>
#include <det/journal/pack_summary.hpp>
#include <det/journal/reader.hpp>

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "read_or_look_again.hpp"

namespace det::journal {
namespace {

// Enough for the header and a frame of the largest size, so that each reading makes progress.
constexpr std::size_t read_limit_bytes = payload_limit_bytes + frame_head_size_bytes + header_size_bytes;

/// Reads the files node-<k><ending> of a run and parses each of them.
template <class Line>
Result<std::vector<Line>> load_lines_of_nodes(RunLayout const& run, std::string_view ending,
                                              std::vector<Line> (*parse)(std::string_view)) {
    DET_TRY_ASSIGN(auto const names, list_directory(run.path()));
    std::vector<Line> lines;
    for (auto const& name : names) {
        if (!name.starts_with("node-") || !name.ends_with(ending)) continue;
        DET_TRY_ASSIGN(auto const text, read_trusted_file(run.path() / name));
        std::ranges::move(parse(text), std::back_inserter(lines));
    }
    return lines;
}

}  // namespace

Result<JournalContents> load_journal(std::filesystem::path const& path, std::string const& only_group) {
    DET_TRY_ASSIGN(auto contents, salvage_journal(path, only_group));
    if (contents.damage.empty()) return contents;
    DamagedJournal const damaged{path, contents.damage};
    if (!is_damage_accepted(damaged)) return journal_damaged_error(damaged);
    return contents;
}

Result<JournalContents> salvage_journal(std::filesystem::path const& path, std::string const& only_group) {
    auto bytes = read_or_look_again(path, [&] { return read_trusted_file(path, journal_limit_bytes); });
    if (!bytes && bytes.error().code == codes::no_such_file) return JournalContents{};
    if (!bytes) return std::move(bytes).error();
    auto contents = parse_journal(*bytes, only_group);
    if (!contents) return std::move(contents).error().while_doing(fmt::format("reading '{}'", path.string()));
    return contents;
}

std::optional<Rank> rank_of_journal(std::string_view name) {
    constexpr std::string_view prefix = "journal-";
    if (!name.starts_with(prefix)) return std::nullopt;
    auto const number = parse_integer<int>(name.substr(prefix.size()));
    return number && *number > 0 ? std::optional(Rank{*number}) : std::nullopt;
}

Result<std::vector<Rank>> list_rank_journals(RunLayout const& run) {
    std::vector<Rank> ranks;
    DET_TRY_ASSIGN(auto const names, list_directory(run.path()));
    for (auto const& name : names) {
        if (auto const rank = rank_of_journal(name)) ranks.push_back(*rank);
    }
    std::ranges::sort(ranks);
    return ranks;
}

RankMetrics metrics_of(JournalContents journal) {
    RankMetrics metrics;
    for (auto& record : journal.records) {
        if (auto* const report = std::get_if<MetricsReported>(&record))
            metrics.reports.push_back(std::move(*report));
        if (auto const* dropped = std::get_if<ReportsDropped>(&record)) metrics.dropped += dropped->count;
    }
    return metrics;
}

Result<std::vector<RankMetrics>> load_other_ranks(RunLayout const& run, std::string const& only_group) {
    DET_TRY_ASSIGN(auto const ranks, list_rank_journals(run));
    std::vector<RankMetrics> of_ranks;
    for (auto const rank : ranks) {
        DET_TRY_ASSIGN(auto journal, load_journal(run.rank_journal(rank), only_group));
        of_ranks.push_back(metrics_of(std::move(journal)));
    }
    return of_ranks;
}

Result<std::string> read_journal_bytes(std::filesystem::path const& path, std::uint64_t offset_bytes) {
    auto const fd = read_or_look_again(path, [&] { return open_trusted_file(path); });
    if (!fd && fd.error().code == codes::no_such_file) return std::string();
    if (!fd) return fd.error();
    return read_journal_bytes(*fd, path, offset_bytes);
}

Result<std::string> read_journal_bytes(UniqueFd const& file, std::filesystem::path const& path,
                                       std::uint64_t offset_bytes) {
    auto const end = ::lseek(file.get(), 0, SEEK_END);
    if (end < 0) return os_error(fmt::format("seek in '{}'", path.string()), errno);
    auto const size_bytes = static_cast<std::uint64_t>(end);
    if (size_bytes <= offset_bytes) return std::string();
    std::string bytes(std::min<std::uint64_t>(size_bytes - offset_bytes, read_limit_bytes), '\0');
    auto const count = ::pread(file.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset_bytes));
    if (count < 0) return os_error(fmt::format("read '{}'", path.string()), errno);
    bytes.resize(static_cast<std::size_t>(count));
    return bytes;
}

Result<std::vector<RankFailure>> load_rank_failures(RunLayout const& run) {
    return load_lines_of_nodes(run, ".ends", parse_rank_failures);
}

Result<std::vector<RankPlacement>> load_rank_placements(RunLayout const& run) {
    DET_TRY_ASSIGN(auto placements, load_lines_of_nodes(run, ".ranks", parse_rank_placements));
    std::ranges::stable_sort(placements, {}, &RankPlacement::rank);
    return placements;
}

namespace {

constexpr std::uint32_t foreign_trials_max = 100'000;

/// Another user wrote the specification. Its root is the directory in which it was found, whatever it says,
/// and a number of trials costs time and memory before any of them is read.
Status limit_foreign_spec(ExperimentSpec& spec, ExperimentLayout const& experiment) {
    spec.root = experiment.path().parent_path().parent_path().string();
    if (spec.trial_count <= foreign_trials_max) return Ok{};
    return Error{codes::damaged,
                 fmt::format("'{}' claims {} trials", experiment.spec().string(), spec.trial_count)};
}

}  // namespace

Result<ExperimentSpec> load_spec(ExperimentLayout const& experiment) {
    auto text = read_trusted_file(experiment.spec());
    if (!text && text.error().code == codes::no_such_file) {
        DET_TRY_ASSIGN(auto packed, find_pack_summary(experiment));
        if (packed) text = std::move(packed->spec);
    }
    if (!text) return std::move(text).error();
    auto spec = parse_spec(*text);
    if (!spec)
        return std::move(spec).error().while_doing(fmt::format("reading '{}'", experiment.spec().string()));
    if (foreign_owner_of(experiment.path())) DET_TRY(limit_foreign_spec(*spec, experiment));
    return spec;
}

Result<std::optional<std::uint32_t>> load_replaced_trial(ExperimentLayout const& experiment,
                                                         std::uint32_t trial) {
    auto const path = experiment.trial(trial).replaces();
    auto const text = read_trusted_file(path);
    if (!text && text.error().code == codes::no_such_file) return std::optional<std::uint32_t>();
    if (!text) return text.error();
    auto const replaced = parse_integer<std::uint32_t>(trim(*text));
    // A replacement has a higher index than the trial that it replaces, so that chains of replacements end.
    if (!replaced || *replaced >= trial) {
        return Error{codes::damaged, fmt::format("'{}' contains '{}', not a trial below {}", path.string(),
                                                 trim(*text), trial)};
    }
    return replaced;
}

}  // namespace det::journal
