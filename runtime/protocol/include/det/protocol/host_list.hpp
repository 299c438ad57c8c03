#pragma once
#include <det/foundation/result.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace det {

inline constexpr std::size_t hosts_max = 1'000'000;

/// Expands a Slurm host list like "gpu[07-10,12],login1" in order. Supports several brackets per name, zero
/// padding and suffixes. codes::slurm_output if it is malformed or has more than hosts_max names.
Result<std::vector<std::string>> expand_host_list(std::string_view text);

/// The first name of the list. Does not expand the list.
Result<std::string> first_host(std::string_view text);

/// Adds a suffix to the first part of a host name: "n1.cluster" with "i" is "n1i.cluster". Some sites give
/// the addresses of the fast network such names. Numeric addresses and "localhost" stay. Pure.
std::string add_host_suffix(std::string_view host, std::string_view suffix);

/// Compresses names to a host list and keeps their order. Consecutive names that differ only in a number at
/// their end share a bracket.
std::string compress_host_list(std::vector<std::string> const& hosts);

/// Expands Slurm's "4(x2),3" to 4, 4, 3.
Result<std::vector<int>> expand_counts(std::string_view text);
std::string compress_counts(std::vector<int> const& counts);

}  // namespace det
