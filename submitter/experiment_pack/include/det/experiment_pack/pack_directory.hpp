#pragma once
#include <det/experiment_pack/pack_lock.hpp>
#include <det/journal/pack_summary.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>

// Replaces the files of an experiment by one file, and back. At each moment, also after a kill -9 or a power
// failure, either the files or the pack are complete: the name `pack` appears once the pack is on the disk
// and was read again, and disappears once all files are on the disk. A directory with a `pack` counts as
// packed, whatever else is in it; the interrupted command can be repeated.
namespace det::experiment_pack {

struct PackReport {
    std::filesystem::path file;  // the pack
    std::size_t entries = 0;     // files, directories and links
    std::uint64_t contents_bytes = 0;
    std::uint64_t pack_bytes = 0;
};

/// Packs the files in the directory of the lock. If an earlier call was interrupted after the pack was
/// complete, removes what that call has left.
///
/// \param lock taken before it was checked that the experiment has ended, and kept until this returns
/// \param elsewhere the directory for the pack, which then has the name experiment-N.detpack; the
///     experiment's directory gets a symbolic link to it. nullopt: the pack is in the experiment's directory
/// \return codes::wrong_state if a file changed meanwhile: then nothing is packed. codes::name_taken if
///     `elsewhere` has a file of that name; the codes of scan_tree()
Result<PackReport> pack_directory(PackLock const& lock, journal::PackSummary const& summary,
                                  std::optional<std::filesystem::path> const& elsewhere);

/// Takes the PackLock, writes the files of the pack in `directory` as they were, then removes the pack, also
/// if it is elsewhere. If that fails, removes the files that it has written; the experiment stays packed.
/// \return codes::wrong_state if `directory` has no pack; codes::damaged; codes::name_taken if a file has
///     the name of a packed one and is another file
Result<PackReport> unpack_directory(std::filesystem::path const& directory);

}  // namespace det::experiment_pack
