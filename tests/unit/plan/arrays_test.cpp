#include <det/plan/arrays.hpp>

#include <boost/test/unit_test.hpp>

#include "check_result.hpp"

using namespace det;
using namespace det::plan;

BOOST_AUTO_TEST_SUITE(arrays_test)

BOOST_AUTO_TEST_CASE(what_fits_is_one_array) {
    BOOST_TEST((split_into_arrays({1, 1}, 1001) == std::vector<JobArray>{{0, 1, 1}}));
    BOOST_TEST((split_into_arrays({1001, 16}, 1001) == std::vector<JobArray>{{0, 1001, 16}}));
    BOOST_TEST(JobArray({0, 1001, 16}).indices() == "0-1000%16");
}

BOOST_AUTO_TEST_CASE(arrays_share_what_may_run_at_once_by_their_sizes) {
    BOOST_TEST((split_into_arrays({5, 5}, 2) == std::vector<JobArray>{{0, 1, 1}, {1, 2, 2}, {3, 2, 2}}));
    for (std::uint32_t trials = 1; trials < 60; ++trials) {
        for (std::uint32_t running = 1; running <= trials; ++running) {
            for (std::uint32_t size_max : {1u, 2u, 7u, 59u}) {
                auto const arrays = split_into_arrays({trials, running}, size_max);
                std::uint32_t next = 0, common_notice_rule = 0;
                for (auto const& array : arrays) {
                    BOOST_REQUIRE(array.first_trial == next);
                    BOOST_REQUIRE((array.trial_count >= 1 && array.trial_count <= size_max));
                    BOOST_REQUIRE((array.running_max >= 1 && array.running_max <= array.trial_count));
                    next += array.trial_count;
                    common_notice_rule += array.running_max;
                }
                BOOST_REQUIRE(next == trials);
                BOOST_REQUIRE(common_notice_rule <= std::max<std::size_t>(running, arrays.size()));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(trials_that_share_nodes_are_fewer_tasks) {
    BOOST_TEST((split_into_arrays({10, 8, 4}, 1001) == std::vector<JobArray>{{0, 10, 2, 4}}));
    BOOST_TEST(JobArray({0, 10, 2, 4}).indices() == "0-2%2");
    BOOST_TEST(
        (split_into_arrays({10, 5, 2}, 1001) == std::vector<JobArray>{{0, 10, 2, 2}}));  // not 6 trials
    BOOST_TEST((split_into_arrays({10, 9, 2}, 1001) == std::vector<JobArray>{{0, 10, 4, 2}}));
    BOOST_TEST((split_into_arrays({9, 9, 2}, 1001) == std::vector<JobArray>{{0, 9, 5, 2}}));
    BOOST_TEST((split_into_arrays({10, 10, 4}, 2) == std::vector<JobArray>{{0, 4, 1, 4}, {4, 6, 2, 4}}));
}

BOOST_AUTO_TEST_CASE(lanes_are_never_empty_and_never_too_many) {
    for (std::uint32_t most = 1; most < 10; ++most) {
        for (std::uint32_t running = 1; running < 40; ++running) {
            auto const lanes = balance_lanes(most, running);
            BOOST_REQUIRE((lanes >= 1 && lanes <= most));
            auto const tasks = (running + most - 1) / most;
            BOOST_REQUIRE(lanes * tasks <= running);
        }
    }
    BOOST_TEST(balance_lanes(8, 16) == 8u);
    BOOST_TEST(balance_lanes(4, 5) == 2u);
    BOOST_TEST(balance_lanes(4, 3) == 3u);
}

BOOST_AUTO_TEST_CASE(the_cluster_says_how_large_an_array_may_be) {
    auto const cluster = [](std::string const& size, std::string const& jobs) {
        return slurm::ClusterConfig({{"MaxArraySize", size}, {"MaxJobCount", jobs}});
    };
    BOOST_TEST(must(array_size_max(cluster("501", "10000"), 10000)) == 501u);
    BOOST_TEST(must(array_size_max(slurm::ClusterConfig(), 10)) == 1001u);
    BOOST_TEST((must_fail(array_size_max(cluster("0", "10000"), 2)).code == codes::not_supported));
    auto const too_many = must_fail(array_size_max(cluster("501", "10000"), 10001));
    BOOST_TEST(too_many.message.find("MaxJobCount=10000") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(more_trials_than_tasks_are_allowed_are_claimed_by_as_many_tasks_as_run_at_once) {
    auto const arrays = [](TrialLoad const& load) { return split_into_arrays(load, 1001); };
    BOOST_TEST(arrays({100, 16, 1, 100}).at(0).indices() == "0-99%16");
    auto const claimed = arrays({101, 16, 1, 100});
    BOOST_REQUIRE(claimed.size() == 1u);
    BOOST_TEST(claimed[0].indices() == "0-15%16");
    BOOST_TEST(claimed[0].trial_count == 101u);
    BOOST_TEST(claimed[0].tasks_max == 16u);
    BOOST_TEST(arrays({5000, 200, 1, 100}).at(0).indices() == "0-99%100");
    BOOST_TEST(arrays({5000, 2000, 1, 3000}).at(0).indices() == "0-1000%1001");
    BOOST_TEST(arrays({101, 16, 4, 25}).at(0).indices() == "0-3%4");  // 26 tasks of 4 lanes
    BOOST_TEST(arrays({9, 1, 1, 4}).at(0).indices() == "0-0%1");
}

BOOST_AUTO_TEST_CASE(the_limit_of_tasks_is_an_option_of_the_scheduler) {
    auto const limit = [](std::string const& parameters) {
        return array_tasks_max(slurm::parse_cluster_config("SchedulerParameters = " + parameters + "\n"));
    };
    BOOST_TEST(limit("bf_interval=1,max_array_tasks=100,x").value() == 100u);
    BOOST_TEST(!limit("bf_interval=1"));
    BOOST_TEST(!limit("max_array_tasks=0"));
    BOOST_TEST(!limit("max_array_tasks"));
    BOOST_TEST(!limit("(null)"));
}

BOOST_AUTO_TEST_SUITE_END()
