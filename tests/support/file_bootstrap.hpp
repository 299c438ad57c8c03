#pragma once
#include <det/transport/bootstrap.hpp>

#include <filesystem>
#include <memory>

namespace det::transport {

/// Opens a bootstrap that uses files in a shared directory. It polls, so it suits
/// a test with a few ranks. Not collective.
///
/// \param directory created if it does not exist; must be empty at the start and private to the run.
Result<std::unique_ptr<Bootstrap>> open_file_bootstrap(Rank rank, int size, std::filesystem::path directory,
                                                       BootstrapOptions options = {});

}  // namespace det::transport
