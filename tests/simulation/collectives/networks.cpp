#include "networks.hpp"

#include "selection.hpp"

namespace det::simulation {

using namespace collectives;

std::array<double, algorithms> prices(int ranks, std::size_t size_bytes, LogGP const& network) {
    constexpr int simulated_ring_max = 64;
    auto const size = static_cast<double>(size_bytes);
    std::array<double, algorithms> priced{};
    for (std::size_t i = 0; i < algorithms; ++i) {
        auto const algorithm = static_cast<Algorithm>(i);
        bool const by_symmetry = algorithm == Algorithm::ring && ranks > simulated_ring_max;
        priced[i] = by_symmetry
                        ? price_ring_by_symmetry(ranks, size, network)
                        : simulate_allreduce(algorithm, ranks, size,
                                             tree_segments(size_bytes, Tuning{}.segment_bytes), network);
    }
    return priced;
}

}  // namespace det::simulation
