#pragma once
#include <det/checkpoint/sharded_upload.hpp>

#include "upload_plan.hpp"

namespace det::checkpoint {

/// An identifier of a directory: equal on ranks that mean the same directory of the same node. Empty if
/// unknown.
std::string identify(std::filesystem::path const& directory);

/// Lists the selected files, without digests. Leaves out metadata.json, which the checkpoint writes itself.
/// \return codes::bad_value if a name is not UTF-8, which a manifest could not hold
Result<Uploads> list_sources(std::filesystem::path const& directory, Selector const& selector);

Result<std::string> digest_of(std::filesystem::path const& file);

/// Copies files and directories into another directory.
Status copy_sources(std::filesystem::path const& from, std::vector<std::string> const& paths,
                    std::filesystem::path const& to);

}  // namespace det::checkpoint
