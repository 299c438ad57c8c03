#include "networks.hpp"

#include "selection.hpp"

namespace det::simulation {

using namespace collectives;

std::vector<Price> prices(Kind kind, int ranks, std::size_t size_bytes, LogGP const& network) {
    constexpr int simulated_ring_max = 64;
    auto const size = static_cast<double>(size_bytes);
    std::vector<Price> priced;
    for (auto const algorithm : algorithms_of(kind)) {
        Plan const plan{kind, algorithm, segments_for(algorithm, size_bytes, Tuning{}.segment_bytes)};
        bool const by_symmetry = is_symmetric(plan) && ranks > simulated_ring_max;
        priced.push_back({algorithm, by_symmetry ? price_by_symmetry(plan, ranks, size, network)
                                                 : simulate(plan, ranks, size, network)});
    }
    return priced;
}

}  // namespace det::simulation
