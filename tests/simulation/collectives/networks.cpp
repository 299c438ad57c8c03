#include "networks.hpp"

#include <algorithm>
#include <limits>

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

namespace {

double factor_of(Algorithm algorithm, std::vector<Price> const& priced) {
    double own = 0, others = std::numeric_limits<double>::infinity();
    for (auto const& price : priced) {
        if (price.algorithm == algorithm) {
            own = price.seconds;
        } else {
            others = std::min(others, price.seconds);
        }
    }
    return others / own;
}

}  // namespace

std::vector<Win> wins_of_rows(Kind kind) {
    auto const table = selection_table(kind);
    std::vector<Win> wins(table.size());
    for (auto const& network : other_networks) {
        for (int const ranks : node_counts) {
            for (auto size = smallest_bytes; size <= largest_bytes; size *= 2) {
                auto const& row = choose(kind, ranks, size);
                auto& win = wins[static_cast<std::size_t>(&row - table.data())];
                auto const factor = factor_of(row.algorithm, prices(kind, ranks, size, network.costs));
                if (factor > win.factor) win = {factor, network.name, ranks, size};
            }
        }
    }
    return wins;
}

}  // namespace det::simulation
