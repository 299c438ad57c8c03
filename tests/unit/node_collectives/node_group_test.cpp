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

BOOST_AUTO_TEST_SUITE_END()
