#pragma once
#include <det/foundation/environment.hpp>
#include <det/protocol/cluster_info.hpp>
#include <det/protocol/experiment_spec.hpp>

#include <filesystem>
#include <optional>

namespace det::core {

/// Information about the run to which a rank belongs, from the files in DET_RUN_DIR/info.
struct Info {
    std::filesystem::path run_dir;  // DET_RUN_DIR
    ClusterInfo cluster;
    RendezvousInfo rendezvous;
    std::optional<TrialInfo> trial;  // nullopt, like `spec`, outside of an experiment
    std::optional<ExperimentSpec> spec;
    std::filesystem::path run_path;  // .../trials/3/runs/2; empty without a trial
};

/// Reads the files in DET_RUN_DIR/info.
///
/// \param environment the variables of the process.
/// \return nullopt outside of a run, where DET_RUN_DIR is not set; an Error if a file can't be read;
///     codes::misuse if the run belongs to a trial and DET_RUN_PATH is not set.
Result<std::optional<Info>> load_info(Environment const& environment);

}  // namespace det::core
