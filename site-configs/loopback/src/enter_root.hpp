#pragma once
#include <det/foundation/result.hpp>

#include <filesystem>

namespace det::loopback {

/// Makes `root` the root directory of the calling process and of its mount namespace, which must be private.
/// It is read-only, so that several clusters use it at the same time. It has the /dev and /sys of this
/// machine, an empty /run, and `state`, with the mounts below it, at its own path. The caller mounts /proc.
Status enter_root(std::filesystem::path const& root, std::filesystem::path const& state);

}  // namespace det::loopback
