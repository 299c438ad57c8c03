// Ranks on several nodes, as threads: what holds for any ranks holds for them.
#include <det/collectives/two_level.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "../../conformance/expectation.hpp"
#include "../transport/rank_threads.hpp"
#include "collective_cases.hpp"
#include "communicator.hpp"

using namespace det;
using namespace det::collectives;
using transport::Transport;

namespace {

using Shape = std::vector<int>;  // ranks of each node

struct Seat {
    Topology topology;
    std::unique_ptr<Transport> local;  // none where the rank is alone on its node
};

std::vector<Seat> seats_of(Shape const& shape) {
    std::vector<Seat> seats;
    for (int node = 0; node < static_cast<int>(shape.size()); ++node) {
        int const size = shape[static_cast<std::size_t>(node)];
        auto locals = transport::make_local_group(size);
        for (int rank = 0; rank < size; ++rank) {
            seats.push_back({{rank, size, node, static_cast<int>(shape.size())},
                             size == 1 ? nullptr : std::move(locals[static_cast<std::size_t>(rank)])});
        }
    }
    return seats;
}

using ContextBody = std::function<Status(DistributedContext& context)>;

std::vector<Status> run_nodes(Shape const& shape, Tuning const& tuning, ContextBody const& body) {
    auto seats = seats_of(shape);
    return transport::run_ranks(static_cast<int>(seats.size()), [&](auto transport) -> Status {
        auto& seat = seats[static_cast<std::size_t>(transport->rank().value)];
        std::shared_ptr<RankGroup> local = make_alone();
        if (seat.local) local = std::make_shared<Communicator>(std::move(seat.local), tuning);
        DET_TRY_ASSIGN(auto ranks, make_two_level(std::move(transport), local, seat.topology, tuning));
        DET_TRY_ASSIGN(auto context, DistributedContext::make(std::move(ranks), seat.topology, local));
        return body(context);
    });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(two_level_test)

BOOST_AUTO_TEST_CASE(ranks_on_several_nodes_agree_on_everything) {
    auto const seed = test_seed();
    for (auto const& shape : {Shape{2, 2}, Shape{3, 1}, Shape{1, 1, 1}, Shape{2, 2, 2}, Shape{1, 3, 2}}) {
        for (auto const& tuning : {Tuning{}, nothing_is_small}) {
            BOOST_TEST_CONTEXT(fmt::format("nodes of {} ranks, small up to {}", fmt::join(shape, ", "),
                                           tuning.small_limit_bytes)) {
                transport::check_ranks(run_nodes(shape, tuning, [&](DistributedContext& context) {
                    return run_all_cases(context, seed);
                }));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(what_is_local_stays_on_the_node) {
    transport::check_ranks(run_nodes({2, 3}, {}, [](DistributedContext& context) -> Status {
        DET_TRY_ASSIGN(auto const all, context.allgather_local(std::to_string(context.rank().value)));
        auto const expected = context.cross_rank() == 0 ? std::vector<std::string>{"0", "1"}
                                                        : std::vector<std::string>{"2", "3", "4"};
        return expect(all == expected, "the ranks of the node");
    }));
}

BOOST_AUTO_TEST_CASE(ranks_that_do_not_fit_together_are_told_so) {
    auto const results = transport::run_ranks(2, [](auto transport) -> Status {
        Topology const wrong{1, 2, transport->rank().value, 2};  // nobody is the first
        DET_TRY(make_two_level(std::move(transport), make_alone(), wrong));
        return Ok{};
    });
    for (auto const& result : results) {
        BOOST_REQUIRE(!result);
        BOOST_TEST(result.error().message == "the local rank of rank 0 is 1: it should be 0");
    }
}

BOOST_AUTO_TEST_SUITE_END()
