#pragma once
#include <det/foundation/files.hpp>
#include <det/journal/frame.hpp>
#include <det/journal/merge_ranks.hpp>
#include <det/protocol/directory_layout.hpp>
#include <det/protocol/experiment_spec.hpp>
#include <det/protocol/rank_failure.hpp>
#include <det/protocol/rank_placement.hpp>
#include <det/protocol/record.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace det::journal {

/// The contents of a journal. A torn frame at the end is left out.
struct JournalContents {
    std::vector<Record> records;
    FrameState tail = FrameState::end;  // end or torn
    /// Up to the end of the last complete frame; 0 without a complete header.
    std::size_t good_size_bytes = 0;
    std::size_t skipped = 0;  // number of frames of unknown types; 0 with only_group
    /// Bytes that hold no frames, and frames after these that can't be decoded without them: records are
    /// missing.
    std::vector<DamagedRange> damage;
};

inline constexpr std::size_t journal_limit_bytes = std::size_t{1} << 30;

/// Parses the bytes of a whole journal. Pure. Reads on after damaged bytes. codes::damaged if it is no
/// journal or a record with a valid checksum can't be decoded; codes::newer_format if a newer program wrote
/// it.
///
/// \param only_group if not empty: only the metrics of this group, which is faster; `skipped` stays 0
Result<JournalContents> parse_journal(std::string_view bytes, std::string const& only_group = {});

/// Reads and parses a journal, for answers and decisions that need all of its records: codes::journal_damaged
/// if records are missing and the user has not accepted that (damage.hpp). A file that does not exist counts
/// as an empty journal. Other errors as parse_journal() and read_trusted_file(), with a limit of 1 GiB.
Result<JournalContents> load_journal(std::filesystem::path const& path, std::string const& only_group = {});

/// Reads and parses what is left of a journal. The caller must show or handle JournalContents::damage. A file
/// that does not exist counts as an empty journal. Errors as parse_journal() and read_trusted_file(), with a
/// limit of 1 GiB.
Result<JournalContents> salvage_journal(std::filesystem::path const& path,
                                        std::string const& only_group = {});

/// The rank whose journal has this file name ("journal-3"); nullopt if it is the name of another file.
std::optional<Rank> rank_of_journal(std::string_view name);

/// The ranks other than the chief that have a journal in the run, ascending. Errors: those of the directory.
Result<std::vector<Rank>> list_rank_journals(RunLayout const& run);
/// The metrics in the journal of a rank.
RankMetrics metrics_of(JournalContents journal);

/// Reads the metrics that ranks other than the chief have reported in a run: an entry for each of them that
/// has a journal, in the order of the ranks. Errors as load_journal(), and those of the directory.
/// \param only_group if not empty: only the metrics of this group; `dropped` stays 0
Result<std::vector<RankMetrics>> load_other_ranks(RunLayout const& run, std::string const& only_group = {});

/// Reads the bytes of a journal from an offset to the end, at most as many as a header and the largest frame
/// have. Empty if the journal does not exist or ends at the offset. Each call opens the file, because an NFS
/// client looks for new data at open(2). Other errors as open_trusted_file().
Result<std::string> read_journal_bytes(std::filesystem::path const& path, std::uint64_t offset_bytes);
/// The same from a file that is open already. The path is for messages.
Result<std::string> read_journal_bytes(UniqueFd const& file, std::filesystem::path const& path,
                                       std::uint64_t offset_bytes);

/// Reads the failures of ranks that the wrappers on all nodes have recorded so far. Unordered.
Result<std::vector<RankFailure>> load_rank_failures(RunLayout const& run);

/// Reads where the ranks of all nodes run, or ran, in the order of the ranks.
Result<std::vector<RankPlacement>> load_rank_placements(RunLayout const& run);

/// Reads an experiment's specification. codes::no_such_file if the experiment does not exist, or while it is
/// being created; other errors as read_trusted_file() and parse_spec(). That of a packed experiment is read
/// from the head of its pack.
Result<ExperimentSpec> load_spec(ExperimentLayout const& experiment);

/// Reads the index of the trial whose invalid hyperparameters this trial replaces. That trial may be a
/// replacement itself.
/// \return nullopt if the trial replaces none; codes::damaged if the file names no earlier trial
Result<std::optional<std::uint32_t>> load_replaced_trial(ExperimentLayout const& experiment,
                                                         std::uint32_t trial);

}  // namespace det::journal
