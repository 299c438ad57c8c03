#include <det/collectives/distributed_context.hpp>
#include <det/transport/local.hpp>

#include <boost/test/unit_test.hpp>

#include "check_result.hpp"

using namespace det;
using namespace det::collectives;

BOOST_AUTO_TEST_SUITE(topology_test)

BOOST_AUTO_TEST_CASE(a_task_of_slurm_gives_the_topology_of_a_rank) {
    auto const group = transport::make_local_group(8);
    TaskIdentity task;
    task.rank = 5, task.size = 8, task.local_rank = 1, task.local_size = 4, task.cross_rank = 1,
    task.cross_size = 2;
    BOOST_TEST((must(topology_of(task, *group[5])) == Topology{1, 4, 1, 2}));
}

BOOST_AUTO_TEST_CASE(a_task_with_a_world_of_one_rank_gets_a_hint_how_to_start) {
    auto const group = transport::make_local_group(1);
    TaskIdentity task;
    task.rank = 3, task.size = 8;
    auto const error = must_fail(topology_of(task, *group[0]));
    BOOST_TEST(error.message == "Slurm says that this is rank 3 of 8, the transport rank 0 of 1");
    BOOST_TEST(error.hint.find("--mpi=pmix") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(names_of_nodes_give_the_topology) {
    std::vector<std::string> const nodes{"b", "a", "b", "c", "a", "b"};
    BOOST_TEST((topology_of(nodes, {0}) == Topology{0, 3, 0, 3}));
    BOOST_TEST((topology_of(nodes, {4}) == Topology{1, 2, 1, 3}));
    BOOST_TEST((topology_of(nodes, {5}) == Topology{2, 3, 0, 3}));
    BOOST_TEST((topology_of(nodes, {3}) == Topology{0, 1, 2, 3}));
}

BOOST_AUTO_TEST_CASE(numbers_that_contradict_each_other_are_refused) {
    constexpr Topology impossible[] = {{-1, 1, 0, 1}, {1, 1, 0, 1}, {0, 5, 0, 1}, {0, 1, 2, 2}, {0, 1, 0, 5}};
    for (auto const& topology : impossible) {
        auto group = transport::make_local_group(4);
        BOOST_TEST(!DistributedContext::make(std::move(group[0]), topology).has_value());
    }
}

BOOST_AUTO_TEST_CASE(nodes_may_hold_different_numbers_of_ranks) {
    auto group = transport::make_local_group(3);
    auto const context = must(DistributedContext::make(std::move(group[2]), {0, 1, 1, 2}));
    BOOST_TEST(context.rank().value == 2);
    BOOST_TEST(context.local_rank() == 0);
    BOOST_TEST(context.cross_rank() == 1);
    BOOST_TEST(!context.is_chief());
}

BOOST_AUTO_TEST_SUITE_END()
