#pragma once
#include <det/transport/bootstrap.hpp>

#include <filesystem>
#include <memory>

namespace det::transport {

/// Opens a bootstrap that uses files in a shared directory, which must be empty at the start and private to
/// the run. For the ranks of one node and for tests: it polls, so it suits dozens of ranks but not thousands.
Result<std::unique_ptr<Bootstrap>> open_file_bootstrap(Rank rank, int size, std::filesystem::path directory,
                                                       BootstrapOptions options = {});

}  // namespace det::transport
