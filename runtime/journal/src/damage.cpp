#include <det/foundation/files.hpp>
#include <det/foundation/list_numeric_names.hpp>
#include <det/foundation/trusted_file.hpp>
#include <det/journal/damage.hpp>
#include <det/journal/reader.hpp>
#include <det/protocol/json.hpp>

#include <algorithm>
#include <fmt/format.h>

namespace det::journal {
namespace {

constexpr std::string_view accepted_suffix = ".accepted-damage";

std::filesystem::path accepted_path(std::filesystem::path journal) {
    journal += accepted_suffix;
    return journal;
}

/// The journals of the supervisor, of the ranks and of the nodes.
Result<std::vector<std::filesystem::path>> list_journals(RunLayout const& run) {
    std::vector paths{run.supervisor_journal(), run.chief_journal()};
    DET_TRY_ASSIGN(auto const names, list_directory(run.path()));
    for (auto const& name : names) {
        if (auto const rank = rank_of_journal(name)) paths.push_back(run.rank_journal(*rank));
        if (!name.starts_with("node-") || !name.ends_with(".log")) continue;
        paths.push_back(RunLayout::metrics_beside(run.path() / name));
        paths.push_back(RunLayout::waits_beside(run.path() / name));
    }
    return paths;
}

Status add_damaged_journals(RunLayout const& run, std::vector<DamagedJournal>& damaged) {
    DET_TRY_ASSIGN(auto const paths, list_journals(run));
    for (auto const& path : paths) {
        DET_TRY_ASSIGN(auto contents, salvage_journal(path));
        DamagedJournal journal{path, std::move(contents.damage)};
        if (!journal.damage.empty() && !is_damage_accepted(journal)) damaged.push_back(std::move(journal));
    }
    return Ok{};
}

}  // namespace

Error journal_damaged_error(DamagedJournal const& journal) {
    auto const& first = journal.damage.front();
    return {codes::journal_damaged,
            fmt::format("'{}' is damaged at byte {}: {} bytes can't be read, so records are missing",
                        journal.path.string(), first.offset_bytes, first.size_bytes),
            "'det-submit dump FILE' shows the records that are left; --accept-damage (experiment activate, "
            "continue, cancel, kill, delete, gc) goes on without the missing ones"};
}

bool is_damage_accepted(DamagedJournal const& journal) {
    auto const text = read_trusted_file(accepted_path(journal.path));
    if (!text) return false;
    auto const accepted = parse_accepted_damage(*text);
    return accepted && std::ranges::all_of(journal.damage, [&](auto const& range) {
               return std::ranges::find(*accepted, range) != accepted->end();
           });
}

Status accept_damage(DamagedJournal const& journal) {
    return write_file(accepted_path(journal.path), render_accepted_damage(journal.damage), 0600,
                      Durability::power_loss);
}

Result<std::vector<DamagedJournal>> find_damaged_journals(ExperimentLayout const& experiment) {
    std::vector<DamagedJournal> damaged;
    DET_TRY_ASSIGN(auto const trials, list_numeric_names(experiment.trials()));
    for (auto const index : trials) {
        auto const trial = experiment.trial(index);
        DET_TRY_ASSIGN(auto const runs, list_numeric_names(trial.runs()));
        for (auto const run : runs) DET_TRY(add_damaged_journals(trial.run(run), damaged));
    }
    return damaged;
}

std::string render_accepted_damage(std::vector<DamagedRange> const& damage) {
    auto ranges = Json::array();
    for (auto const& [offset, size] : damage)
        ranges.push_back({{"offset_bytes", offset}, {"size_bytes", size}});
    return render_document(documents::accepted_damage, Json{{"ranges", std::move(ranges)}});
}

Result<std::vector<DamagedRange>> parse_accepted_damage(std::string_view text) {
    DET_TRY_ASSIGN(auto const body, parse_document(documents::accepted_damage, text));
    return decode_json("accepted-damage", [&] {
        std::vector<DamagedRange> damage;
        for (auto const& range : body.at("ranges")) {
            damage.push_back({range.at("offset_bytes").template get<std::uint64_t>(),
                              range.at("size_bytes").template get<std::uint64_t>()});
        }
        return damage;
    });
}

}  // namespace det::journal
