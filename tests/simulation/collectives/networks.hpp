#pragma once
#include <string_view>

#include "algorithm_selection.hpp"
#include "loggp.hpp"

namespace det::simulation {

/// The network to which the thresholds of the selection tables are fitted: 10 Gbit/s Ethernet by TCP, and a
/// core that combines floats.
inline constexpr LogGP ethernet_10g{25e-6, 5e-6, 0.8e-9, 0.1e-9};

struct NamedNetwork {
    std::string_view name;
    LogGP costs;
};
/// The other networks. An algorithm is kept if it wins in one of them.
inline constexpr NamedNetwork other_networks[] = {
    {"1 Gbit/s Ethernet", {30e-6, 8e-6, 8e-9, 0.1e-9}},
    {"25 Gbit/s Ethernet", {15e-6, 3e-6, 0.34e-9, 0.05e-9}},
    {"100 Gbit/s Ethernet", {8e-6, 1.5e-6, 0.09e-9, 0.05e-9}},
    {"InfiniBand HDR", {1.2e-6, 0.3e-6, 0.04e-9, 0.1e-9}},
};

/// The node counts and sizes that are simulated: those that sites have.
inline constexpr int node_counts[] = {2, 3, 4, 6, 8, 14, 16, 24, 48, 64};
inline constexpr std::size_t smallest_bytes = 1024, largest_bytes = std::size_t{256} << 20;

struct Price {
    collectives::Algorithm algorithm;
    double seconds;
};
/// Returns the times of all algorithms of an operation.
std::vector<Price> prices(collectives::Kind kind, int ranks, std::size_t size_bytes, LogGP const& network);

/// The network, node count and size at which an algorithm has the largest lead over all others of its
/// operation. `factor` is the time of the second best divided by its own.
struct Win {
    double factor = 0;
    std::string_view network = {};
    int ranks = 0;
    std::size_t size_bytes = 0;
};
/// Returns the largest win of each row of selection_table(kind), within its range of ranks and sizes, in
/// `other_networks`.
std::vector<Win> wins_of_rows(collectives::Kind kind);

}  // namespace det::simulation
