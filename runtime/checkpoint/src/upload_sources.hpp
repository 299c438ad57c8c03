#pragma once
#include <det/checkpoint/sharded_upload.hpp>

#include "upload_plan.hpp"

namespace det::checkpoint {

/// An identifier of a directory. It is equal on ranks that refer to the same directory on the same node.
/// Empty if unknown.
std::string identify(std::filesystem::path const& directory);

/// Lists the selected files, without digests. Omits metadata.json, which the commit writes itself.
/// \return codes::bad_value if a name is not UTF-8, because a manifest cannot contain it
Result<Uploads> list_sources(std::filesystem::path const& directory, Selector const& selector);

Result<std::string> digest_of(std::filesystem::path const& file);

/// Copies files and directories into another directory.
Status copy_sources(std::filesystem::path const& from, std::vector<std::string> const& paths,
                    std::filesystem::path const& to);

}  // namespace det::checkpoint
