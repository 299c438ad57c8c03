#pragma once
#include <det/site/site.hpp>
#include <det/slurm/cluster_config.hpp>

#include <cstdint>
#include <optional>

namespace det::site {

/// Seconds from Slurm's notice that it wants a trial's nodes until it takes them: the partition's GraceTime;
/// nothing where it has none. Pure.
std::optional<std::uint32_t> notice_time(Pool const& pool);

/// Of a partition without GraceTime: KillWait. Nothing where jobs there are not preempted, or by their QOS,
/// whose GraceTime is not known here. Pure.
std::optional<std::uint32_t> notice_time(Pool const& pool, slurm::ClusterConfig const& config);

}  // namespace det::site
