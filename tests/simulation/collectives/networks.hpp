#pragma once
#include "loggp.hpp"

namespace det::simulation {

/// Ethernet by TCP, and a core that combines floats: what the selection table is made for. The other networks
/// show how far it holds.
inline constexpr LogGP ethernet_10g{25e-6, 5e-6, 0.8e-9, 0.1e-9};
inline constexpr LogGP ethernet_1g{30e-6, 8e-6, 8e-9, 0.1e-9};
inline constexpr LogGP infiniband_hdr{1.2e-6, 0.3e-6, 0.04e-9, 0.1e-9};

struct Price {
    collectives::Algorithm algorithm;
    double seconds;
};
/// Of all algorithms that an operation has. Rings of more than 64 ranks by symmetry.
std::vector<Price> prices(collectives::Kind kind, int ranks, std::size_t size_bytes, LogGP const& network);

}  // namespace det::simulation
