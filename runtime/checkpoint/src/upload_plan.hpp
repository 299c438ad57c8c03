#pragma once
#include <det/foundation/result.hpp>
#include <det/protocol/document.hpp>

#include <map>
#include <string>
#include <vector>

namespace det::checkpoint {

/// The files that a rank brings: path to digest. Directories end with "/" and have no digest. A file has a
/// digest only if another rank brings a file with the same path.
using Uploads = std::map<std::string, std::string>;

/// Plans which rank uploads which paths. The lowest rank that brings a file uploads it. Pure.
/// \return one list of paths for each rank. codes::misuse ("refusing to upload with files conflicts: ...") if
///     two ranks bring different files with the same path, or one brings a file and another a directory
Result<std::vector<std::vector<std::string>>> plan_uploads(std::vector<Uploads> const& ranks);

/// Merges the metadata of all ranks: objects key by key; other values must be equal. Pure.
/// \return codes::misuse with the keys that differ, for example "/a/b"
Result<Json> merge_metadata(std::vector<Json> const& ranks);

}  // namespace det::checkpoint
