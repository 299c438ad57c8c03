#pragma once
#include <det/transport/bootstrap.hpp>

#include <filesystem>
#include <memory>

namespace det::transport {

/// Opens a bootstrap that uses files in a shared directory. It is for the ranks of one node and for tests: it
/// polls, so it suits dozens of ranks but not thousands. Not collective.
///
/// \param directory created if it does not exist; must be empty at the start and private to the run.
Result<std::unique_ptr<Bootstrap>> open_file_bootstrap(Rank rank, int size, std::filesystem::path directory,
                                                       BootstrapOptions options = {});

}  // namespace det::transport
