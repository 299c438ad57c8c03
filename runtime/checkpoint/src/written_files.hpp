#pragma once
#include <det/foundation/result.hpp>
#include <det/protocol/checkpoint_manifest.hpp>

#include <string>
#include <vector>

namespace det::checkpoint {

/// What a rank tells the chief of the files that it has written, as text: the files, or why there are none.
std::string render_written(Result<std::vector<CheckpointFile>> const& written);

/// Files of all ranks, or the error of the lowest that has one.
Result<std::vector<CheckpointFile>> collect_written(std::vector<std::string> const& texts);

}  // namespace det::checkpoint
