#pragma once
#include <det/config/experiment_config.hpp>
#include <det/experiment/context.hpp>
#include <det/protocol/staged_file.hpp>

#include <filesystem>
#include <vector>

namespace det::experiment {

/// Where relative paths of a configuration begin.
struct PathBases {
    std::filesystem::path current;  // of paths on the command line
    std::filesystem::path home;     // "~"; empty: not known
};

/// Makes the paths of slurm.stage absolute: those of a file begin at its directory, those of --config at the
/// current one. A file that is named twice stands there once. Pure.
yaml::Node with_absolute_stage(yaml::Node const& config, PathBases const& bases);

/// The files of slurm.stage with their sizes and hashes. Reads each file once: the cache of this user
/// keeps its hash until its size, its time or its inode changes. Reports files that are absent, unreadable or
/// none, two of the same name on the nodes, and what is larger than slurm.stage_limit.
Result<std::vector<StagedFile>, Diagnostics> find_staged_files(config::ExperimentConfig const& config,
                                                               Context& context);

}  // namespace det::experiment
