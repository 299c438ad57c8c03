#pragma once
#include <det/checkpoint/store.hpp>
#include <det/foundation/result.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace det::core {

/// Reads the journals of all runs of the trial.
/// \param run the directory of one of its runs
/// \return the UUIDs of the committed checkpoints, newest first
Result<std::vector<std::string>> list_past_checkpoints(std::filesystem::path const& run,
                                                       checkpoint::Store const& store);

}  // namespace det::core
