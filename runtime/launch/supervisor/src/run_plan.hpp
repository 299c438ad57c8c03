#pragma once
#include <det/protocol/ids.hpp>
#include <det/protocol/json_value.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "resume_point.hpp"
#include "run_shape.hpp"

namespace det::launch::supervisor {

/// A run that is about to start.
struct RunPlan {
    RunId id;
    ResumePoint resume;
    std::string hosts;  // compressed host list in rank order
    std::uint32_t trial_seed = 0;
    std::uint16_t master_port = 0;
    std::string trial_dir = {};                       // DET_TRIAL_DIR
    std::string local_suffix = {};                    // DET_LOCAL_SUFFIX
    std::map<std::string, std::uint16_t> ports = {};  // by the names of the configuration
    /// Of a trial whose hyperparameters a sampler chooses; nullopt: the searcher draws them.
    std::optional<JsonValue> chosen_hyperparameters = {};
    /// How far the sampler lets the trial train; nullopt: as configured.
    std::optional<std::uint64_t> training_length = {};
    bool signals_reach_all = false;  // Slurm signals every process of a step
    RunShape shape = {};
};

}  // namespace det::launch::supervisor
