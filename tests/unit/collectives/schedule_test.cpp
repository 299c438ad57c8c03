// Tests the guarantees of schedules with symbolic values, which record how they were computed.
#include <boost/test/unit_test.hpp>
#include <deque>
#include <fmt/format.h>
#include <map>

#include "../../conformance/expectation.hpp"
#include "../transport/rank_threads.hpp"
#include "algorithm_selection.hpp"
#include "run_schedule.hpp"
#include "tree_schedules.hpp"

using namespace det;
using namespace det::collectives;

namespace schedule_test {

constexpr Kind kinds[] = {Kind::allreduce, Kind::reduce_scatter, Kind::allgather_elements,
                          Kind::broadcast, Kind::reduce,         Kind::all_to_all};

/// Calls `check` with all algorithms of all operations, roots and numbers of pieces.
template <class Check>
void for_all_parts(int ranks, Check const& check) {
    for (auto const kind : kinds) {
        for (auto const algorithm : algorithms_of(kind)) {
            bool const has_root = kind == Kind::broadcast || kind == Kind::reduce;
            for (int root = 0; root < (has_root ? ranks : 1); root += ranks < 10 ? 1 : 7) {
                for (int const segments : {1, 3}) {
                    BOOST_TEST_CONTEXT(describe(Call{.root = root, .kind = kind})
                                       << " by " << name_of(algorithm) << ", " << ranks << " ranks, "
                                       << segments << " segments")
                    check(SchedulePlan{kind, algorithm, {}, ranks, {root}, segments});
                }
            }
        }
    }
}

SchedulePlan at(SchedulePlan plan, int rank) {
    plan.rank = {rank};
    return plan;
}

/// A message: the contents of the blocks when it was sent.
struct SentBlocks {
    BlockRange blocks;
    std::vector<std::string> values;
};

using Values = std::vector<std::string>;

constexpr auto nothing = "?";

/// The blocks of a rank before the operation: its number if all ranks contribute, otherwise a text that names
/// the source. Blocks that must be received are `nothing`.
Values begin_with(SchedulePlan const& plan, int blocks) {
    Values values(static_cast<std::size_t>(blocks), nothing);
    auto const own = static_cast<std::size_t>(plan.rank.value);
    auto const name = std::to_string(plan.rank.value);
    switch (plan.kind) {
        case Kind::broadcast:
            for (std::size_t i = 0; plan.rank == plan.root && i < values.size(); ++i)
                values[i] = fmt::format("block {}", i);
            break;
        case Kind::allgather_elements:
            values[own] = name;
            break;
        case Kind::all_to_all:
            for (int to = 0; to < plan.ranks; ++to)
                values[static_cast<std::size_t>(to)] = fmt::format("{} for {}", name, to);
            values[static_cast<std::size_t>(plan.ranks) + own] = fmt::format("{0} for {0}", name);
            break;
        default:
            values.assign(values.size(), name);
    }
    return values;
}

/// Executes the schedules of all ranks with symbolic values, the highest rank first.
struct Symbolic {
    std::vector<Schedule> schedules;
    std::vector<Values> blocks;
    std::vector<std::size_t> next;
    std::vector<std::vector<int>> finished;
    std::map<std::pair<int, int>, std::deque<SentBlocks>> wires;  // by sender and receiver

    explicit Symbolic(SchedulePlan const& plan) : next(static_cast<std::size_t>(plan.ranks)) {
        for (int rank = 0; rank < plan.ranks; ++rank) {
            schedules.push_back(schedule_of(at(plan, rank)));
            auto const count = schedules.back().blocks;
            blocks.push_back(begin_with(at(plan, rank), count));
            finished.emplace_back(static_cast<std::size_t>(count));
        }
    }

    /// Executes the next step of a rank. Returns false if the rank must wait for a message.
    bool advance(std::size_t rank) {
        auto const& step = schedules[rank].steps[next[rank]];
        auto& mine = blocks[rank];
        int const self = static_cast<int>(rank);
        if (step.action == Action::send) {
            wires[{self, step.peer.value}].push_back(
                {step.blocks, {mine.begin() + step.blocks.begin, mine.begin() + step.blocks.end}});
        } else if (step.action == Action::finish) {
            for (int i = step.blocks.begin; i < step.blocks.end; ++i)
                ++finished[rank][static_cast<std::size_t>(i)];
        } else {
            auto& wire = wires[{step.peer.value, self}];
            if (wire.empty()) return false;
            auto const& sent = wire.front().blocks;
            BOOST_REQUIRE(sent.end - sent.begin == step.blocks.end - step.blocks.begin);
            for (int i = step.blocks.begin; i < step.blocks.end; ++i) {
                auto& value = mine[static_cast<std::size_t>(i)];
                auto const& other = wire.front().values[static_cast<std::size_t>(i - step.blocks.begin)];
                BOOST_REQUIRE(other != nothing);
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
            BOOST_REQUIRE(next[rank] == schedules[rank].steps.size());  // no rank waits for ever
        }
        for (auto const& [ends, wire] : wires) BOOST_REQUIRE(wire.empty());
    }
};

/// The ranks in an expression, each once, in order of appearance.
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

bool has_all_ranks_once(std::string const& expression, int ranks) {
    auto present = ranks_in(expression);
    std::ranges::sort(present);
    for (std::size_t rank = 0; rank < present.size(); ++rank) {
        if (present[rank] != static_cast<int>(rank)) return false;
    }
    return present.size() == static_cast<std::size_t>(ranks);
}

/// The blocks that a rank must have after the operation.
BlockRange result_of(SchedulePlan const& plan, int blocks) {
    int const rank = plan.rank.value;
    if (plan.kind == Kind::reduce_scatter) return {rank, rank + 1};
    if (plan.kind == Kind::all_to_all) return {plan.ranks, 2 * plan.ranks};
    if (plan.kind == Kind::reduce && plan.rank != plan.root) return {0, 0};
    return {0, blocks};
}

void check_results(SchedulePlan const& any, Symbolic const& after) {
    for (int rank = 0; rank < any.ranks; ++rank) {
        auto const plan = at(any, rank);
        auto const& values = after.blocks[static_cast<std::size_t>(rank)];
        auto const result = result_of(plan, static_cast<int>(values.size()));
        for (int i = result.begin; i < result.end; ++i) {
            auto const& value = values[static_cast<std::size_t>(i)];
            if (plan.kind == Kind::broadcast) {
                BOOST_REQUIRE(value == fmt::format("block {}", i));
            } else if (plan.kind == Kind::allgather_elements) {
                BOOST_REQUIRE(value == std::to_string(i));
            } else if (plan.kind == Kind::all_to_all) {
                BOOST_REQUIRE(value == fmt::format("{} for {}", i - plan.ranks, rank));
            } else {
                BOOST_REQUIRE(has_all_ranks_once(value, plan.ranks));
            }
        }
        if (plan.kind == Kind::allreduce) BOOST_REQUIRE((values == after.blocks.front()));
    }
}

/// Checks that one rank finishes each block, so that a mean is divided once. In recursive doubling every rank
/// reduces, so every rank finishes: that is not checked.
void check_finished(SchedulePlan const& plan, Symbolic const& after) {
    bool const combines =
        plan.kind == Kind::allreduce || plan.kind == Kind::reduce_scatter || plan.kind == Kind::reduce;
    if (!combines || plan.algorithm == Algorithm::recursive_doubling) return;
    for (std::size_t block = 0; block < after.blocks.front().size(); ++block) {
        int times = 0;
        for (auto const& of_rank : after.finished) times += of_rank[block];
        BOOST_REQUIRE(times == 1);
    }
}

}  // namespace schedule_test

BOOST_AUTO_TEST_SUITE(schedule_test)

BOOST_AUTO_TEST_CASE(every_rank_ends_with_its_result_from_all_ranks) {
    for (int ranks = 2; ranks <= 33; ++ranks) {
        for_all_parts(ranks, [](SchedulePlan const& plan) {
            Symbolic simulation(plan);
            simulation.run();
            check_results(plan, simulation);
            check_finished(plan, simulation);
        });
    }
}

BOOST_AUTO_TEST_CASE(values_are_gathered_at_the_root) {
    for (int ranks = 2; ranks <= 9; ++ranks) {
        SchedulePlan const plan{.kind = Kind::gather, .ranks = ranks, .root = {ranks - 1}};
        std::vector<bool> has(static_cast<std::size_t>(ranks));
        for (auto const& step : schedule_of(at(plan, ranks - 1)).steps) {
            BOOST_TEST((step.action == Action::receive));
            BOOST_TEST(step.blocks.begin == step.peer.value);
            has[static_cast<std::size_t>(step.peer.value)] = true;
            auto const sent = schedule_of(at(plan, step.peer.value)).steps;
            BOOST_TEST((sent == std::vector<Step>{{Action::send, plan.root, step.blocks}}));
        }
        BOOST_TEST(std::ranges::count(has, true) == ranks - 1);
    }
}

BOOST_AUTO_TEST_CASE(an_inner_rank_of_one_tree_is_a_leaf_of_the_other) {
    for (int ranks = 2; ranks <= 70; ++ranks) {
        int in_both = 0;
        for (int rank = 0; rank < ranks; ++rank) {
            auto const a = tree_neighbours({rank}, ranks, Tree::first),
                       b = tree_neighbours({rank}, ranks, Tree::second);
            in_both += a.is_inner() && b.is_inner();
        }
        BOOST_TEST(in_both == 0, ranks << " ranks");
    }
}

BOOST_AUTO_TEST_CASE(over_a_transport_all_algorithms_give_the_sum_for_all_sizes) {
    for (auto const algorithm : algorithms_of(Kind::allreduce)) {
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
                            [](auto mine, auto others, Side) {
                                auto* const to = reinterpret_cast<std::int64_t*>(mine.data());
                                auto const* const from = reinterpret_cast<std::int64_t const*>(others.data());
                                for (std::size_t i = 0; i < mine.size() / 8; ++i) to[i] += from[i];
                            },
                            [](auto) {}};
                        auto const schedule = schedule_of(
                            {Kind::allreduce, algorithm, transport->rank(), ranks, {}, /*segments=*/3});
                        auto const blocks =
                            equal_blocks(std::as_writable_bytes(std::span(values)), 8, schedule.blocks);
                        DET_TRY(run_schedule({*transport, {5}}, schedule, blocks, {512, room}, reduction));
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
