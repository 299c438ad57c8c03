#pragma once
#include <det/foundation/result.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace det::core {

/// What the chiefs of this run and of those before it have committed, the newest first.
Result<std::vector<std::string>> list_past_checkpoints(std::filesystem::path const& run);

}  // namespace det::core
