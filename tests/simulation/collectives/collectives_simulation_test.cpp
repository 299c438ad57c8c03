#include <boost/test/unit_test.hpp>
#include <cmath>

#include "algorithm_selection.hpp"
#include "loggp.hpp"
#include "networks.hpp"

using namespace det;
using namespace det::collectives;
using namespace det::simulation;

namespace collectives_simulation {

constexpr double sizes[] = {8, 4096, 1 << 20, 1 << 26};

constexpr Kind kinds[] = {Kind::allreduce, Kind::reduce_scatter, Kind::allgather_elements,
                          Kind::broadcast, Kind::reduce,         Kind::all_to_all};

bool is_near(double a, double b, double part = 1e-9) { return std::abs(a - b) <= part * std::max(a, b); }

std::string plan_text(Plan const& plan, int ranks, double size) {
    auto const call = describe(Call{.kind = plan.kind});
    return call.substr(0, call.find('(')) + " by " + std::string(name_of(plan.algorithm)) + ", " +
           std::to_string(ranks) + " ranks, " + std::to_string(size) + " bytes";
}

double simulated(Kind kind, Algorithm algorithm, int ranks, double size, int segments = 1) {
    return simulate({kind, algorithm, segments}, ranks, size, ethernet_10g);
}

}  // namespace collectives_simulation

BOOST_AUTO_TEST_SUITE(collectives_simulation)

BOOST_AUTO_TEST_CASE(algorithms_with_few_steps_cost_what_their_formulas_give_up_to_65536_ranks) {
    for (auto const kind : kinds) {
        for (auto const algorithm : algorithms_of(kind)) {
            Plan const plan{kind, algorithm, 1};
            for (int const ranks : {2, 16, 1024, 65'536}) {
                if (algorithm == Algorithm::ring || !formula_for(plan, ranks, 8, ethernet_10g).is_exact)
                    continue;
                for (double const size : ranks > 1024
                                             ? std::vector<double>{1 << 20}
                                             : std::vector<double>(std::begin(sizes), std::end(sizes))) {
                    auto const price = simulate(plan, ranks, size, ethernet_10g);
                    auto const formula = formula_for(plan, ranks, size, ethernet_10g).seconds;
                    BOOST_TEST(is_near(price, formula), plan_text(plan, ranks, size)
                                                            << ": " << price << " s and not " << formula);
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(a_ring_costs_what_its_formula_and_its_symmetry_give) {
    for (auto const kind : {Kind::allreduce, Kind::reduce_scatter, Kind::allgather_elements}) {
        Plan const plan{kind, Algorithm::ring};
        for (int const ranks : {2, 3, 64, 1024}) {
            for (double const size : ranks > 64 ? std::vector<double>{1 << 20}
                                                : std::vector<double>(std::begin(sizes), std::end(sizes))) {
                auto const price = simulate(plan, ranks, size, ethernet_10g);
                BOOST_TEST(is_near(price, formula_for(plan, ranks, size, ethernet_10g).seconds),
                           plan_text(plan, ranks, size));
                BOOST_TEST(is_near(price, price_by_symmetry(plan, ranks, size, ethernet_10g)),
                           plan_text(plan, ranks, size));
            }
        }
        constexpr int many = 65'536;
        BOOST_TEST(is_near(price_by_symmetry(plan, many, 1 << 26, ethernet_10g),
                           formula_for(plan, many, 1 << 26, ethernet_10g).seconds));
    }
}

BOOST_AUTO_TEST_CASE(algorithms_without_a_closed_form_cost_little_more_than_their_bound) {
    struct {
        Kind kind;
        Algorithm algorithm;
        int ranks;
        double size;
        int segments;
        double at_most;
    } const cases[] = {
        {Kind::broadcast, Algorithm::double_tree, 256, 1 << 26, 64, 1.6},
        {Kind::broadcast, Algorithm::chain, 64, 1 << 26, 128, 1.01},
        {Kind::broadcast, Algorithm::chain, 1024, 1 << 26, 128, 1.01},
        {Kind::reduce, Algorithm::chain, 64, 1 << 26, 128, 1.2},
        {Kind::all_to_all, Algorithm::pairs, 64, 1 << 26, 1, 1.05},
        {Kind::all_to_all, Algorithm::pairs, 1024, 1 << 16, 1, 1.5},
    };
    for (auto const& each : cases) {
        Plan const plan{each.kind, each.algorithm, each.segments};
        auto const price = simulate(plan, each.ranks, each.size, ethernet_10g);
        auto const bound = formula_for(plan, each.ranks, each.size, ethernet_10g).seconds;
        BOOST_TEST(price >= bound * (1 - 1e-9), plan_text(plan, each.ranks, each.size));
        BOOST_TEST(price <= each.at_most * bound, plan_text(plan, each.ranks, each.size)
                                                      << ": " << price << " s, bound " << bound);
    }
}

BOOST_AUTO_TEST_CASE(recursive_doubling_costs_up_to_two_more_steps_if_ranks_are_no_power_of_two) {
    constexpr double size = 1 << 16;
    auto const of_8 = simulated(Kind::allreduce, Algorithm::recursive_doubling, 8, size);
    auto const of_9 = simulated(Kind::allreduce, Algorithm::recursive_doubling, 9, size);
    auto const message = ethernet_10g.latency + 2 * ethernet_10g.overhead + size * ethernet_10g.per_byte;
    auto const more = of_9 - of_8;
    BOOST_TEST(more >= message);  // one message is hidden: some ranks have gone ahead
    BOOST_TEST(more <= 3 * message);
}

BOOST_AUTO_TEST_CASE(halving_and_doubling_has_as_few_steps_if_ranks_are_no_power_of_two) {
    // A message that reaches beyond the last block is cut in two, and keeps the links of other ranks busy.
    for (double const size : {1e4, 1e8}) {
        for (auto const kind : {Kind::allreduce, Kind::reduce_scatter}) {
            for (int const ranks : {3, 12, 100, 1000}) {
                Plan const plan{kind, Algorithm::halving_doubling};
                auto const price = simulate(plan, ranks, size, ethernet_10g);
                auto const formula = formula_for(plan, ranks, size, ethernet_10g).seconds;
                BOOST_TEST(price < 1.7 * formula, plan_text(plan, ranks, size)
                                                      << ": " << price << ", " << formula);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(the_selection_tables_are_near_the_fastest_algorithm) {
    for (auto const kind : kinds) {
        double sum = 0;
        int count = 0;
        for (int const ranks : node_counts) {
            for (auto size = smallest_bytes; size <= largest_bytes; size *= 4) {
                auto const priced = prices(kind, ranks, size, ethernet_10g);
                auto const algorithm = choose(kind, ranks, size).algorithm;
                auto const chosen = std::ranges::find(priced, algorithm, &Price::algorithm);
                BOOST_REQUIRE((chosen != priced.end()));
                auto const best = std::ranges::min_element(priced, {}, &Price::seconds);
                auto const loss = chosen->seconds / best->seconds;
                BOOST_TEST(loss <= 1.35, plan_text({kind, algorithm}, ranks, static_cast<double>(size))
                                             << " costs " << chosen->seconds << " s, "
                                             << name_of(best->algorithm) << " " << best->seconds << " s");
                sum += loss;
                ++count;
            }
        }
        BOOST_TEST(sum / count <= 1.03);
    }
}

/// Whether a benchmark is the reason for a row, because both algorithms take the same time in the simulator.
/// The allreduce by ring on up to 4 nodes is kept by tests/bench/internode: from 8 to 32 MiB it uses 0.93 of
/// the wire, halving and doubling 0.82 to 0.85.
bool is_kept_by_a_benchmark(Kind kind, SelectionRow const& row) {
    return kind == Kind::allreduce && row.algorithm == Algorithm::ring && row.ranks_max == 4;
}

BOOST_AUTO_TEST_CASE(
    each_row_of_a_selection_table_wins_by_5_percent_in_a_network_to_which_it_was_not_fitted) {
    for (auto const kind : kinds) {
        auto const algorithms = algorithms_of(kind);
        auto const table = selection_table(kind);
        for (auto const algorithm : algorithms)
            BOOST_TEST((std::ranges::find(table, algorithm, &SelectionRow::algorithm) != table.end()),
                       plan_text({kind, algorithm}, 2, 0) << " has no row");
        if (algorithms.size() == 1) continue;
        auto const wins = wins_of_rows(kind);
        for (std::size_t i = 0; i < table.size(); ++i) {
            if (is_kept_by_a_benchmark(kind, table[i])) continue;
            BOOST_TEST(wins[i].factor >= 1.05, plan_text({kind, table[i].algorithm}, wins[i].ranks, 0)
                                                   << ": " << describe(table[i]) << " wins by the factor "
                                                   << wins[i].factor);
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
