#pragma once
#include <det/collectives/distributed_context.hpp>

#include <span>
#include <string_view>

namespace det::collectives {

/// What a DistributedContext has to do over any transport. All ranks run a case together with the same seed;
/// what they find is returned, because Boost.Test may not be called from several threads.
struct CollectiveCase {
    std::string_view name;
    Status (*run)(DistributedContext& context, std::uint32_t seed);
};

std::span<CollectiveCase const> reduction_cases();
std::span<CollectiveCase const> element_cases();
std::span<CollectiveCase const> object_cases();
/// Where ranks do not agree.
std::span<CollectiveCase const> divergence_cases();

inline constexpr Tuning nothing_is_small{.small_limit_bytes = 0, .segment_bytes = 160};
/// Algorithms change over at different sizes in each: everything has to be right in all.
std::span<Tuning const> tunings();

/// All cases; the first failure of this rank.
Status run_all_cases(DistributedContext& context, std::uint32_t seed);

}  // namespace det::collectives
