#pragma once
#include <det/foundation/result.hpp>
#include <det/journal/frame.hpp>
#include <det/protocol/directory_layout.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace det::journal {

// load_journal() fails for a journal with damaged bytes, because records are missing. With --accept-damage
// the user goes on without these records: FILE.accepted-damage beside the journal then lists the damaged
// ranges.

/// A journal of which records are missing.
struct DamagedJournal {
    std::filesystem::path path;
    std::vector<DamagedRange> damage;  // in order; not empty
};

/// codes::journal_damaged: names the journal and its first damaged range.
Error journal_damaged_error(DamagedJournal const& journal);

/// Whether the user has accepted each of the damaged ranges of the journal. False if that file can't be read.
bool is_damage_accepted(DamagedJournal const& journal);

/// Records that the user accepts the damage of a journal. Replaces an earlier acceptance.
Status accept_damage(DamagedJournal const& journal);

/// Reads all journals of the experiment's runs.
/// \return those with damage that the user has not accepted
Result<std::vector<DamagedJournal>> find_damaged_journals(ExperimentLayout const& experiment);

/// Renders and parses the ranges of an accepted-damage document. Pure.
std::string render_accepted_damage(std::vector<DamagedRange> const& damage);
Result<std::vector<DamagedRange>> parse_accepted_damage(std::string_view text);

}  // namespace det::journal
