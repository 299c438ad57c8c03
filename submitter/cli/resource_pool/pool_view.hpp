#pragma once
#include <det/experiment/load_site.hpp>
#include <det/foundation/diagnostic.hpp>
#include <det/site/pool_use.hpp>

#include "session.hpp"

namespace det::cli {

/// A pool and its present use.
struct PoolView {
    site::Pool pool;
    site::PoolUse use;
};

/// Loads all pools and their use, the pools of the site file first.
Result<std::vector<PoolView>, Diagnostics> load_pools(Session& session);

/// codes::no_such_pool, with the pools as the hint, if no pool or partition has this name. Ok if the pools
/// can't be read.
Status require_pool_or_partition(std::string const& name, Session& session);

Json to_json(PoolView const& view);

std::string default_words(site::Pool const& pool);  // "compute", "aux", "compute, aux", ""
/// What happens to jobs of the pool that are preempted, by QOS or by partition: "REQUEUE".
std::string const& preempt_mode_of(site::Pool const& pool);
/// The GraceTime that goes with it, in seconds.
std::int64_t grace_time_of(site::Pool const& pool);
std::string type_words(site::Pool const& pool);           // "cuda a100", "cpu"
std::string slots_per_node_text(site::Pool const& pool);  // "8", "8, 4"

}  // namespace det::cli
