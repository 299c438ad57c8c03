#pragma once
#include <det/checkpoint/sharded_upload.hpp>

#include "upload_plan.hpp"

namespace det::checkpoint {

/// Names a directory on all nodes: two that are equal are the same one. Empty where that is not known.
std::string identify(std::filesystem::path const& directory);

/// What of it is wanted, files without digests. metadata.json is the checkpoint's own, and left out.
/// codes::bad_value where a name is no UTF-8, which a manifest could not hold.
Result<Uploads> list_sources(std::filesystem::path const& directory, Selector const& selector);

Result<std::string> digest_of(std::filesystem::path const& file);

/// Copies those paths, directories too, into another directory.
Status copy_sources(std::filesystem::path const& from, std::vector<std::string> const& paths,
                    std::filesystem::path const& to);

}  // namespace det::checkpoint
