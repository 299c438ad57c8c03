#pragma once
#include <det/checkpoint/store.hpp>
#include <det/foundation/result.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace det::core {

/// The checkpoints that this run and earlier runs of the trial have committed, newest first, from their
/// journals.
Result<std::vector<std::string>> list_past_checkpoints(std::filesystem::path const& run,
                                                       checkpoint::Store const& store);

}  // namespace det::core
