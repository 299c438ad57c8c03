#pragma once
#include <det/protocol/preflight_facts.hpp>
#include <det/site/check.hpp>

#include <string>
#include <vector>

namespace det::site {

/// Facts about the machine on which det-submit runs. The facts of compute nodes are compared with them.
struct LoginFacts {
    std::string root;                  // the directory that must be shared
    std::string program;               // see file_fingerprint()
    std::int64_t clock_offset_us = 0;  // see measure_clock_offset_us()
};

/// Facts about the pool and the job that examined its nodes.
struct PreflightPool {
    std::string name;
    int nodes = 1;  // that the job had
    bool has_gpus = false;
    std::string container_runtime = {};  // empty: none
    std::string storage = {};            // the path of the checkpoint storage; empty: none on a file system
};

/// \return What to change so that trials run well on these nodes, and what to know. Pure.
std::vector<Finding> judge_preflight(PreflightPool const& pool, LoginFacts const& login,
                                     std::vector<PreflightFacts> const& nodes);

}  // namespace det::site
