#pragma once
#include <det/collectives/distributed_context.hpp>

#include <span>
#include <string_view>

namespace det::collectives {

/// A test case for a DistributedContext over any transport. All ranks run it together with the same seed. It
/// returns its failure, because Boost.Test may not be called from several threads.
struct CollectiveCase {
    std::string_view name;
    Status (*run)(DistributedContext& context, std::uint32_t seed);
};

std::span<CollectiveCase const> reduction_cases();
std::span<CollectiveCase const> element_cases();
std::span<CollectiveCase const> object_cases();
/// Cases in which the calls of the ranks differ.
std::span<CollectiveCase const> divergence_cases();

inline constexpr Tuning nothing_is_small{.small_limit_bytes = 0, .segment_bytes = 160};
/// Tunings in which the algorithms change at different sizes. All cases must pass with each.
std::span<Tuning const> tunings();

/// Runs all cases. Returns the first failure of this rank.
Status run_all_cases(DistributedContext& context, std::uint32_t seed);

}  // namespace det::collectives
