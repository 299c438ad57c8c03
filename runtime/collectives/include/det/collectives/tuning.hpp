#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace det::collectives {

/// The algorithms for data that is too large for the agreement messages (ALGORITHMS.md). An operation
/// supports only some of them.
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

/// The sizes at which algorithms change. The values must be the same on all ranks. Runs with different values
/// may give results that differ in the last bits.
struct Tuning {
    /// Up to this size the data is sent in the agreement messages that begin every operation: one latency
    /// less, but more bytes. ALGORITHMS.md says which size counts for each operation.
    std::size_t small_limit_bytes = 32 * 1024;
    /// Size of the pieces of larger data; at least 1. A piece should still be in the cache when it is used.
    std::size_t segment_bytes = 512 * 1024;
    /// The algorithm for all operations that support it. nullopt: chosen by a table of sizes and ranks.
    std::optional<Algorithm> algorithm = {};
    /// Called with the chosen algorithm and the reason, once for each kind and size of operation whose data
    /// is too large for the agreement messages. May be nullptr.
    void (*explain)(std::string const& line) = nullptr;
};

}  // namespace det::collectives
