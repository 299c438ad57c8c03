#pragma once
#include <det/foundation/result.hpp>
#include <det/protocol/document.hpp>

#include <map>
#include <string>
#include <vector>

namespace det::checkpoint {

/// What ranks have to upload, by path: directories end with "/" and have no digest. A file has one where
/// another rank may have a file of that name.
using Uploads = std::map<std::string, std::string>;

/// Who uploads which paths. The same file on several ranks is uploaded by the lowest of them, a directory may
/// be on all. Pure. codes::misuse where two have different files of one name, or one has a file where the
/// other has a directory: "refusing to upload with files conflicts: ...".
Result<std::vector<std::vector<std::string>>> plan_uploads(std::vector<Uploads> const& ranks);

/// One map of what all ranks say: maps are merged key by key, anything else has to be equal. Pure.
/// codes::misuse names the keys that are not, as "/a/b".
Result<Json> merge_metadata(std::vector<Json> const& ranks);

}  // namespace det::checkpoint
