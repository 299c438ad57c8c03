#include <det/node_collectives/node_group.hpp>

#include <boost/test/unit_test.hpp>

#include "../../conformance/expectation.hpp"
#include "../collectives/collective_cases.hpp"
#include "../transport/rank_threads.hpp"
#include "check_result.hpp"
#include "node_threads.hpp"

using namespace det;
using namespace det::collectives;
using namespace det::node_collectives;
using transport::check_ranks;

namespace {

constexpr Geometry tiny_chunks{.small_limit_bytes = 64, .chunk_bytes = 64, .chunks_in_flight = 2};

void run_suite(int ranks, Geometry const& geometry) {
    auto const seed = test_seed();
    BOOST_TEST_CONTEXT(ranks << " ranks, chunks of " << geometry.chunk_bytes) {
        check_ranks(run_node_threads(
            ranks, geometry, [seed](DistributedContext& context) { return run_all_cases(context, seed); }));
    }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(node_group_test)

BOOST_AUTO_TEST_CASE(two_to_five_ranks_agree_on_everything) {
    for (int const ranks : {2, 3, 5}) run_suite(ranks, geometry_for(ranks));
}

BOOST_AUTO_TEST_CASE(two_to_five_ranks_agree_when_everything_goes_in_tiny_chunks) {
    for (int const ranks : {2, 3, 5}) run_suite(ranks, tiny_chunks);
}

BOOST_AUTO_TEST_CASE(a_group_says_which_way_data_goes) {
    check_ranks(run_node_threads(2, geometry_for(2), [](DistributedContext& context) -> Status {
        DET_TRY_ASSIGN(auto const buffer, context.allocate(1 << 20));
        std::vector<float> own(1 << 18);
        auto const way = [&](std::span<float> values, std::size_t count) {
            auto const tensor = Tensor::of(values.first(count));
            return context.way_of({.in = tensor, .out = tensor});
        };
        DET_TRY(expect(way(own, 1) == "shared memory, in one line", way(own, 1)));
        DET_TRY(expect(way(own, 500) == "shared memory, one copy", way(own, 500)));
        DET_TRY(expect(way(own, own.size()) == "shared memory, pipeline", way(own, own.size())));
        auto const shared = way(buffer.as<float>(), 1 << 18);
        return expect(shared == "shared memory, no copy", shared);
    }));
}

BOOST_AUTO_TEST_SUITE_END()
