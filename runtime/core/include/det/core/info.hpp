#pragma once
#include <det/foundation/environment.hpp>
#include <det/protocol/cluster_info.hpp>
#include <det/protocol/experiment_spec.hpp>

#include <filesystem>
#include <optional>

namespace det::core {

/// What a rank can know about the run that it is part of.
struct Info {
    std::filesystem::path run_dir;  // DET_RUN_DIR
    ClusterInfo cluster;
    RendezvousInfo rendezvous;
    std::optional<TrialInfo> trial;  // with `spec`: nothing in a script that is no experiment's
    std::optional<ExperimentSpec> spec;
    std::filesystem::path run_path;  // .../trials/3/runs/2; empty where there is no trial
};

/// Nothing outside of a run: DET_RUN_DIR is not set.
Result<std::optional<Info>> load_info(Environment const& environment);

}  // namespace det::core
