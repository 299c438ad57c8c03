#pragma once
#include <det/experiment/context.hpp>
#include <det/experiment/load_site.hpp>
#include <det/protocol/preflight_facts.hpp>
#include <det/site/judge_preflight.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace det::experiment {

/// The preflight job of a pool and what its nodes have reported.
struct PoolPreflight {
    site::PreflightPool pool;
    std::uint32_t job = 0;
    std::vector<PreflightFacts> nodes;    // ordered by index
    std::vector<site::Finding> findings;  // also about the job itself
};

/// Submits one small job of at most two nodes to each pool, waits until all have ended, and judges what their
/// nodes report. A job that has not started within `start_timeout` is cancelled, which is a finding. Removes
/// its files from the root.
Result<std::vector<PoolPreflight>> run_preflight_jobs(std::vector<site::Pool> const& pools,
                                                      RootLayout const& root,
                                                      std::chrono::seconds start_timeout, Context& context);

}  // namespace det::experiment
