#pragma once
#include <det/checkpoint/store.hpp>
#include <det/foundation/result.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace det::core {

/// What the chiefs of this run and of those before it have committed to the store, the newest first.
Result<std::vector<std::string>> list_past_checkpoints(std::filesystem::path const& run,
                                                       checkpoint::Store const& store);

}  // namespace det::core
