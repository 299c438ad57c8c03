#pragma once
#include <det/foundation/result.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace det {

inline constexpr std::size_t hosts_max = 1'000'000;

/// The names behind Slurm's "gpu[07-10,12],login1" in its order: several brackets in a name, zero padding and
/// a suffix behind a bracket included. More than hosts_max names are refused.
Result<std::vector<std::string>> expand_host_list(std::string_view text);

/// The first name alone: costs the same however long the list is.
Result<std::string> first_host(std::string_view text);

/// The other way, keeping the order: runs that differ in their last number become a bracket.
std::string compress_host_list(std::vector<std::string> const& hosts);

/// Slurm's "4(x2),3" as 4, 4, 3.
Result<std::vector<int>> expand_counts(std::string_view text);
std::string compress_counts(std::vector<int> const& counts);

}  // namespace det
