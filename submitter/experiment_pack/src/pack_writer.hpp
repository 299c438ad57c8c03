#pragma once
#include <det/experiment_pack/pack_index.hpp>
#include <det/foundation/files.hpp>
#include <det/journal/pack_summary.hpp>

#include <filesystem>
#include <vector>

namespace det::experiment_pack {

/// Writes a pack of the listed files into a new file and syncs it. Returns the entries with their contents.
/// codes::wrong_state if a file is not as it was listed.
///
/// \param target must not exist; is removed if that fails
Result<std::vector<Entry>> write_pack(std::filesystem::path const& directory, std::vector<Entry> entries,
                                      journal::PackSummary const& summary,
                                      std::filesystem::path const& target);

}  // namespace det::experiment_pack
