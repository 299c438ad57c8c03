#pragma once
#include <det/foundation/environment.hpp>

#include <filesystem>
#include <string>

namespace det::launch::node {

/// Gives compilers of training code a directory that survives the runs of an experiment on this node: sets
/// TORCHINDUCTOR_CACHE_DIR and TRITON_CACHE_DIR, unless the user has set them, and replaces the value of
/// DET_COMPILE_CACHE by the directory. Does nothing without DET_COMPILE_CACHE. Removes caches of other
/// experiments in which no task has begun for 30 days.
/// \param parent this user's directory on this node
/// \param node part of the directory's name, if the nodes share the file system
void use_compile_cache(Environment& environment, std::filesystem::path const& parent,
                       std::string const& node);

}  // namespace det::launch::node
