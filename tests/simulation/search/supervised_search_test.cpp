// Searches whose supervisors are killed at each step, restarted and cut off, on a file system where changes
// become visible late.
#include "supervised_search.hpp"

#include <det/protocol/json.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include "seeds.hpp"

using namespace det;
using namespace det::simulation;

namespace supervised_search_test {

constexpr FaultRates some_faults{0.2, 0.2};

/// The search with seed S runs under the conditions at index S mod 6.
constexpr Conditions conditions[] = {
    {"crashes", 0.02, 0, 0, 0, some_faults},
    {"crashes and arrivals at the same moment", 0.01, 0, 0.5, 0, some_faults},
    {"changes that become visible late", 0.005, 0, 0.3, 0.5, some_faults},
    {"supervisors that are cut off", 0.005, 0.05, 0.3, 0, some_faults},
    {"supervisors that are cut off, and late changes", 0.01, 0.1, 0.3, 0.3, some_faults},
    {"valid trials of programs that never fail", 0.02, 0.05, 0.5, 0.5, {}},
};

/// Rungs at 1, 3 and 9 reports, and at 3 and 9.
search::AshaSearch search_of(std::uint32_t trials, std::uint32_t concurrent) {
    Json const options{{"mode", "standard"},   {"max_length", {{"batches", 9}}},
                       {"max_trials", trials}, {"divisor", 3},
                       {"max_rungs", 3},       {"max_concurrent_trials", concurrent}};
    auto planned = search::plan_asha({"adaptive_asha", "loss", true, options});
    BOOST_REQUIRE(planned.has_value());
    return *std::move(planned);
}

void check(SupervisedSearch const& simulated) {
    for (auto const& violation : find_violations(simulated)) BOOST_ERROR(violation);
}

}  // namespace supervised_search_test

BOOST_AUTO_TEST_SUITE(supervised_search_test)

BOOST_AUTO_TEST_CASE(a_search_survives_a_crash_at_each_step) {
    constexpr std::uint32_t seed = 3;
    for (auto const& [step, name] : steps) {
        std::uint32_t number = 0;
        for (;; ++number) {
            BOOST_TEST_CONTEXT("crash number " << number << " " << name) {
                SupervisedSearch simulated(search_of(12, 4), {"", 0, 0, 0.5, 0, some_faults}, seed,
                                           {{step, number}});
                simulated.run();
                check(simulated);
                if (simulated.crashes() == 0) break;
            }
        }
        BOOST_TEST(number > 0, "no supervisor comes to the step " << name);
    }
}

BOOST_AUTO_TEST_CASE(no_trial_is_lost_and_none_is_stopped_twice) {
    auto const seeds = chosen_seeds(0, 100);
    std::uint32_t crashes = 0, cut_offs = 0, same_moments = 0;
    for (auto seed = seeds.begin; seed < seeds.end; ++seed) {
        auto const& condition = conditions[seed % std::size(conditions)];
        BOOST_TEST_CONTEXT("DET_SIMULATION_SEED=" << seed << ": " << condition.name) {
            SupervisedSearch simulated(search_of(40, 8), condition, seed);
            simulated.run();
            check(simulated);
            crashes += simulated.crashes();
            cut_offs += simulated.cut_offs();
            same_moments += simulated.same_moments();
        }
    }
    BOOST_TEST_MESSAGE(fmt::format(
        "seeds {} to {}: {} crashes, {} supervisors cut off, {} events between an entry and its list",
        seeds.begin, seeds.end - 1, crashes, cut_offs, same_moments));
    if (seeds.end - seeds.begin < 100) return;
    BOOST_TEST(crashes > 100);
    BOOST_TEST(cut_offs > 100);
    BOOST_TEST(same_moments > 100);
}

BOOST_AUTO_TEST_SUITE_END()
