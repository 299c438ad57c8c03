#pragma once
#include <det/config/experiment_config.hpp>
#include <det/foundation/diagnostic.hpp>

#include <filesystem>
#include <span>
#include <string_view>

namespace det::experiment {

/// Warns of lines of a batch script: srun, mpirun and mpiexec, which an entrypoint would start on every node,
/// and #SBATCH, which nothing reads. At most one warning of each of the two kinds. Pure.
/// \param file the name of the script in the warnings; its lines count from 1
void warn_of_batch_lines(std::string_view script, std::string const& file, Diagnostics& found);

/// Warns of such lines in the entrypoint itself and in the shell scripts that it names. A word of the
/// entrypoint that names no file in any of the directories is ignored, and so are other files than shell
/// scripts.
void warn_of_nested_launchers(config::Entrypoint const& entrypoint,
                              std::span<std::filesystem::path const> directories, Diagnostics& found);

}  // namespace det::experiment
