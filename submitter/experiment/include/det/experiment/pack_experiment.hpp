#pragma once
#include <det/experiment/context.hpp>
#include <det/experiment_pack/pack_directory.hpp>

#include <filesystem>
#include <optional>
#include <string>

namespace det::experiment {

/// Replaces the files of an experiment by one file: see experiment_pack::pack_directory(). Its checkpoints
/// stay in the checkpoint storage. Waits up to a minute for the end of the experiment's jobs.
///
/// \param elsewhere a directory for the file, which must be trusted as the root is; nullopt: the
///     experiment's own directory
/// \return codes::wrong_state if the experiment has not ended, has a job in Slurm, or keeps its checkpoints
/// in its directory
Result<experiment_pack::PackReport> pack_experiment(std::string const& id,
                                                    std::optional<std::filesystem::path> const& elsewhere,
                                                    Context& context);

/// Writes the files of a packed experiment as they were. codes::wrong_state if it is not packed; the codes of
/// experiment_pack::unpack_directory().
Result<experiment_pack::PackReport> unpack_experiment(std::string const& id, Context& context);

}  // namespace det::experiment
