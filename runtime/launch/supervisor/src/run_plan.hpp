#pragma once
#include <det/protocol/ids.hpp>

#include <cstdint>
#include <map>
#include <string>

#include "resume_point.hpp"

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
    bool signals_reach_all = false;                   // Slurm signals every process of a step
};

}  // namespace det::launch::supervisor
