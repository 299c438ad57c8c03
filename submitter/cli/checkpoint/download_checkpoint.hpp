#pragma once
#include <det/checkpoint/store.hpp>

#include "session.hpp"

namespace det::cli {

/// Copies a checkpoint into a new directory and prints where it is.
Status download_checkpoint(checkpoint::Store const& store, std::string const& uuid,
                           std::filesystem::path const& target, Session& session);

}  // namespace det::cli
