// Two levels of which the lower one is shared memory.
#include "../several_nodes.hpp"

#include <boost/test/unit_test.hpp>

#include "../../../conformance/expectation.hpp"
#include "check_result.hpp"
#include "node_threads.hpp"

using namespace det;
using namespace det::collectives;

namespace several_nodes_test {

LocalGroup by_shared_memory(int ranks) {
    auto const memory = std::make_shared<collectives::node::SharedMemory>(
        must(collectives::node::create_shared_memory(ranks, collectives::node::geometry_for(ranks))));
    return [memory](int rank) {
        return collectives::node::map_and_join(*memory, {rank},
                                               {.members = collectives::node::Members::threads});
    };
}

}  // namespace several_nodes_test

BOOST_AUTO_TEST_SUITE(several_nodes_test)

BOOST_AUTO_TEST_CASE(nodes_of_ranks_that_share_memory_agree_on_everything) {
    auto const seed = test_seed();
    for (auto const& shape : {Shape{2, 2}, Shape{1, 3}}) {
        transport::check_ranks(run_nodes(shape, {}, by_shared_memory, [&](DistributedContext& context) {
            return run_all_cases(context, seed);
        }));
    }
}

BOOST_AUTO_TEST_SUITE_END()
