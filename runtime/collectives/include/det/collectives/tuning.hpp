#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace det::collectives {

/// How data that does not travel within the agreement goes between ranks (ALGORITHMS.md). Not every operation
/// has all of them.
enum class Algorithm : std::uint8_t {
    recursive_doubling,
    ring,
    halving_doubling,
    double_tree,
    binomial_tree,
    chain,
    pairs,
};
inline constexpr std::size_t algorithms = 7;

std::string_view name_of(Algorithm algorithm);

/// Where algorithms change over. The same on all ranks, and the same from run to run for bitwise equal
/// results.
struct Tuning {
    /// Up to here data travels within the agreement that begins every operation: one latency less, more
    /// bytes.
    std::size_t small_limit_bytes = 32 * 1024;
    /// Pieces in which larger data is passed on, so that what was received is still in cache when it is used.
    std::size_t segment_bytes = 512 * 1024;
    /// For the operations that have it. Absent: what is fastest for these sizes and ranks, by a table.
    std::optional<Algorithm> algorithm = {};
    /// Told how each operation of its kind and size will be done, and why; the first time only. Null: nobody.
    void (*explain)(std::string const& line) = nullptr;
};

}  // namespace det::collectives
