#pragma once
#include <det/transport/bootstrap.hpp>

#include <filesystem>
#include <memory>

namespace det::transport {

/// Through files in a directory that all ranks see, empty at the start and of this run alone: for the ranks
/// of one node, and for tests. It asks again and again: for dozens of ranks, not for thousands.
Result<std::unique_ptr<Bootstrap>> open_file_bootstrap(Rank rank, int size, std::filesystem::path directory,
                                                       BootstrapOptions options = {});

}  // namespace det::transport
