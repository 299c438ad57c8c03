// What schedules promise whatever executes them, with values that say how they came about.
#include <boost/test/unit_test.hpp>
#include <deque>
#include <fmt/format.h>
#include <map>

#include "../../conformance/expectation.hpp"
#include "../transport/rank_threads.hpp"
#include "run_schedule.hpp"
#include "selection.hpp"
#include "tree.hpp"

using namespace det;
using namespace det::collectives;

namespace {

constexpr Algorithm all_algorithms[] = {Algorithm::recursive_doubling, Algorithm::ring,
                                        Algorithm::halving_doubling, Algorithm::double_tree};

/// A message: the blocks as they were when it was sent.
struct Parcel {
    BlockRange blocks;
    std::vector<std::string> values;
};

/// Ranks that each hold "r" in all blocks and follow their schedules, in the order that lets the fewest of
/// them go on.
struct Symbolic {
    std::vector<Schedule> schedules;
    std::vector<std::vector<std::string>> blocks;
    std::vector<std::size_t> next;
    std::map<std::pair<int, int>, std::deque<Parcel>> wires;

    Symbolic(Algorithm algorithm, int ranks, int segments) : next(static_cast<std::size_t>(ranks)) {
        for (int rank = 0; rank < ranks; ++rank) {
            schedules.push_back(allreduce_schedule(algorithm, {rank}, ranks, segments));
            blocks.emplace_back(static_cast<std::size_t>(schedules.back().blocks), std::to_string(rank));
        }
    }

    /// False where it has to wait.
    bool advance(std::size_t rank) {
        auto const& step = schedules[rank].steps[next[rank]];
        auto& mine = blocks[rank];
        int const self = static_cast<int>(rank);
        if (step.action == Action::send) {
            wires[{self, step.peer.value}].push_back(
                {step.blocks, {mine.begin() + step.blocks.begin, mine.begin() + step.blocks.end}});
        } else if (step.action != Action::finish) {
            auto& wire = wires[{step.peer.value, self}];
            if (wire.empty()) return false;
            BOOST_REQUIRE((wire.front().blocks == step.blocks));
            for (int i = step.blocks.begin; i < step.blocks.end; ++i) {
                auto& value = mine[static_cast<std::size_t>(i)];
                auto const& other = wire.front().values[static_cast<std::size_t>(i - step.blocks.begin)];
                value = step.action == Action::receive         ? other
                        : step.action == Action::combine_below ? fmt::format("({}+{})", other, value)
                                                               : fmt::format("({}+{})", value, other);
            }
            wire.pop_front();
        }
        ++next[rank];
        return true;
    }

    void run() {
        for (bool has_moved = true; has_moved;) {
            has_moved = false;
            for (std::size_t rank = schedules.size(); rank-- > 0;) {
                while (next[rank] < schedules[rank].steps.size() && advance(rank)) has_moved = true;
            }
        }
        for (std::size_t rank = 0; rank < schedules.size(); ++rank) {
            BOOST_REQUIRE(next[rank] == schedules[rank].steps.size());  // nobody waits for ever
        }
        for (auto const& [ends, wire] : wires) BOOST_REQUIRE(wire.empty());
    }
};

/// The ranks in an expression, each once, in the order in which they appear.
std::vector<int> ranks_in(std::string const& expression) {
    std::vector<int> found;
    for (std::size_t i = 0; i < expression.size();) {
        std::size_t digits = 0;
        while (i + digits < expression.size() &&
               std::isdigit(static_cast<unsigned char>(expression[i + digits])))
            ++digits;
        if (digits > 0) found.push_back(std::stoi(expression.substr(i, digits)));
        i += std::max(digits, std::size_t{1});
    }
    return found;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(schedule_test)

BOOST_AUTO_TEST_CASE(every_rank_ends_with_the_same_combination_of_all_ranks) {
    for (auto const algorithm : all_algorithms) {
        for (int ranks = 2; ranks <= 33; ++ranks) {
            for (int const segments : {1, 3}) {
                BOOST_TEST_CONTEXT(name_of(algorithm)
                                   << ", " << ranks << " ranks, " << segments << " segments") {
                    Symbolic simulation(algorithm, ranks, segments);
                    simulation.run();
                    auto const& first = simulation.blocks.front();
                    for (auto const& others : simulation.blocks) BOOST_REQUIRE((others == first));
                    for (auto const& block : first) {
                        auto present = ranks_in(block);
                        std::ranges::sort(present);
                        for (int rank = 0; rank < ranks; ++rank)
                            BOOST_REQUIRE(present.at(static_cast<std::size_t>(rank)) == rank);
                        BOOST_REQUIRE(present.size() == static_cast<std::size_t>(ranks));
                    }
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(who_has_children_in_one_tree_has_none_in_the_other) {
    for (int ranks = 2; ranks <= 70; ++ranks) {
        int in_both = 0;
        for (int rank = 0; rank < ranks; ++rank) {
            auto const a = tree_place({rank}, ranks, Tree::first),
                       b = tree_place({rank}, ranks, Tree::second);
            in_both += a.is_inner() && b.is_inner();
        }
        BOOST_TEST(in_both == 0, ranks << " ranks");
    }
}

BOOST_AUTO_TEST_CASE(over_a_transport_all_algorithms_give_the_sum_whatever_the_sizes) {
    for (auto const algorithm : all_algorithms) {
        for (int const ranks : {2, 3, 5, 8}) {
            for (std::size_t const count : {0u, 1u, 7u, 64u, 1000u, 5001u}) {
                auto const results = transport::run_ranks(
                    ranks,
                    [&](auto transport) -> Status {
                        std::vector<std::int64_t> values(count);
                        for (std::size_t i = 0; i < count; ++i)
                            values[i] = static_cast<std::int64_t>(i) * (transport->rank().value + 1);
                        std::vector<std::byte> room(2 * 512);
                        Reduction const reduction{
                            8,
                            [](auto mine, auto others, Side) {
                                auto* const to = reinterpret_cast<std::int64_t*>(mine.data());
                                auto const* const from = reinterpret_cast<std::int64_t const*>(others.data());
                                for (std::size_t i = 0; i < mine.size() / 8; ++i) to[i] += from[i];
                            },
                            [](auto) {}};
                        auto const schedule = allreduce_schedule(algorithm, transport->rank(), ranks, 3);
                        DET_TRY(run_schedule({*transport, {5}}, schedule,
                                             std::as_writable_bytes(std::span(values)), {512, room},
                                             reduction));
                        for (std::size_t i = 0; i < count; ++i) {
                            auto const sum = static_cast<std::int64_t>(i) * ranks * (ranks + 1) / 2;
                            DET_TRY(expect(values[i] == sum, fmt::format("element {} of {}", i, count)));
                        }
                        return Ok{};
                    },
                    {.eager_limit_bytes = 0});
                BOOST_TEST_CONTEXT(name_of(algorithm) << ", " << count << " elements")
                transport::check_ranks(results);
            }
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
