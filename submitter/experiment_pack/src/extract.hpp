#pragma once
#include <det/experiment_pack/pack_file.hpp>

#include <filesystem>

namespace det::experiment_pack {

enum class ExtractFor {
    /// As they were: names, modes, groups, times, links. Files of another size or time that have a name of
    /// the pack are an error, because they are not in the pack.
    restoring,
    /// For commands that show the experiment: private to this user, without symbolic links and without the
    /// working files of trials, `trials/N/generations`, which no command shows.
    reading,
};

/// Writes the files of a pack below `directory`, which must exist, and compares their checksums. A file
/// appears whole: it is written as .pack-file in the directory and then renamed.
Status extract(PackFile const& pack, std::filesystem::path const& directory, ExtractFor purpose);

/// Whether extract() writes the entry.
bool is_extracted(Entry const& entry, ExtractFor purpose);

}  // namespace det::experiment_pack
