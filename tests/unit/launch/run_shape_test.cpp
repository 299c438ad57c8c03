// The shape of a run follows from what its job has.
#include "run_shape.hpp"

#include <boost/test/unit_test.hpp>

using namespace det;
using namespace det::launch::supervisor;

namespace run_shape_test {

/// A job on nodes n0, n1 ... of a trial of one to four nodes of eight slots.
struct Job {
    ExperimentSpec spec;
    JobAllocation allocation;

    explicit Job(int nodes) {
        spec.shape = {4, 8, SlotType::cuda};
        spec.launch = Launch::rank;
        for (int i = 0; i < nodes; ++i) allocation.hosts.push_back("n" + std::to_string(i));
    }
    RunShape shape() const { return decide_run_shape(spec, allocation); }
};

using Hosts = std::vector<std::string>;

}  // namespace run_shape_test

BOOST_AUTO_TEST_SUITE(run_shape_test)

BOOST_AUTO_TEST_CASE(a_run_of_fixed_size_has_the_shape_of_the_specification) {
    auto const run = Job(4).shape();
    BOOST_TEST(run.shape.nodes == 4);
    BOOST_TEST(run.shape.ranks() == 32);
    BOOST_TEST(run.task_nodes == 4);
    BOOST_TEST(run.hosts.size() == 4u);
    BOOST_TEST(!run.is_part_of_job);
}

BOOST_AUTO_TEST_CASE(an_elastic_run_has_the_nodes_of_its_job) {
    for (int const nodes : {1, 2, 3, 4}) {
        Job job(nodes);
        job.spec.nodes_min = 1;
        auto const run = job.shape();
        BOOST_TEST(run.shape.nodes == nodes);
        BOOST_TEST(run.shape.slots_per_node == 8);
        BOOST_TEST(run.task_nodes == nodes);
        BOOST_TEST(run.hosts == job.allocation.hosts, boost::test_tools::per_element());
        BOOST_TEST(!run.is_part_of_job);
    }
}

BOOST_AUTO_TEST_CASE(spare_nodes_and_nodes_beyond_the_largest_size_are_left_out) {
    Job job(4);
    job.spec.nodes_min = 1;
    job.spec.spare_nodes = 1;
    BOOST_TEST(job.shape().shape.nodes == 3);
    BOOST_TEST(job.shape().is_part_of_job);
    Job larger(6);
    larger.spec.nodes_min = 2;
    BOOST_TEST(larger.shape().hosts == (Hosts{"n0", "n1", "n2", "n3"}), boost::test_tools::per_element());
    BOOST_TEST(larger.shape().is_part_of_job);
}

BOOST_AUTO_TEST_CASE(nodes_where_an_interpreter_waits_are_preferred_to_others_that_are_good) {
    Job job(5);
    job.spec.spare_nodes = 1;
    auto const hosts_with = [&](Hosts const& warm) {
        job.allocation.warm_hosts = warm;
        return job.shape().hosts;
    };
    Hosts const first{"n0", "n1", "n2", "n3"};
    // Where all nodes are equal, the first ones.
    BOOST_TEST(hosts_with({}) == first, boost::test_tools::per_element());
    BOOST_TEST(hosts_with(job.allocation.hosts) == first, boost::test_tools::per_element());
    BOOST_TEST(hosts_with(first) == first, boost::test_tools::per_element());
    // One waits on the spare node, and none on one of the others.
    BOOST_TEST(hosts_with({"n0", "n2", "n3", "n4"}) == (Hosts{"n0", "n2", "n3", "n4"}),
               boost::test_tools::per_element());
    BOOST_TEST(hosts_with({"n4", "n3", "n1"}) == (Hosts{"n0", "n1", "n3", "n4"}),
               boost::test_tools::per_element());
    // Of several nodes without one the first are used.
    BOOST_TEST(hosts_with({"n4"}) == (Hosts{"n0", "n1", "n2", "n4"}), boost::test_tools::per_element());
    BOOST_TEST(hosts_with({"n0"}) == first, boost::test_tools::per_element());
    // A bad node is not used for its interpreter, and one that the job does not have is not used at all.
    job.allocation.bad_hosts = {"n4"};
    BOOST_TEST(hosts_with({"n0", "n2", "n3", "n4", "n9"}) == first, boost::test_tools::per_element());
    job.allocation.bad_hosts = {"n1"};
    BOOST_TEST(hosts_with({"n1"}) == (Hosts{"n0", "n2", "n3", "n4"}), boost::test_tools::per_element());
    // The batch host, on which the run's ports are free, is left only if it is bad.
    job.allocation.bad_hosts.clear();
    BOOST_TEST(hosts_with({"n1", "n2", "n3", "n4"}) == first, boost::test_tools::per_element());
    job.allocation.bad_hosts = {"n0"};
    BOOST_TEST(hosts_with({}) == (Hosts{"n1", "n2", "n3", "n4"}), boost::test_tools::per_element());
    Job without_batch_host(6);
    without_batch_host.spec.spare_nodes = 2;
    without_batch_host.allocation.bad_hosts = {"n0"};
    without_batch_host.allocation.warm_hosts = {"n2", "n3", "n4", "n5"};
    BOOST_TEST(without_batch_host.shape().hosts == (Hosts{"n2", "n3", "n4", "n5"}),
               boost::test_tools::per_element());
    // Too few good nodes: the run uses the first nodes of its job.
    job.allocation.bad_hosts = {"n1", "n2"};
    BOOST_TEST(hosts_with({"n4"}) == first, boost::test_tools::per_element());
    // Without spare nodes there is nothing to choose.
    Job without(4);
    without.allocation.warm_hosts = {"n3"};
    BOOST_TEST(without.shape().hosts == first, boost::test_tools::per_element());
    // An elastic run in a job with more nodes than its largest size.
    Job elastic(6);
    elastic.spec.nodes_min = 2;
    elastic.allocation.warm_hosts = {"n0", "n1", "n4", "n5"};
    BOOST_TEST(elastic.shape().hosts == (Hosts{"n0", "n1", "n4", "n5"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(bad_nodes_are_replaced_by_spare_ones_and_else_an_elastic_run_is_smaller) {
    Job spare(5);
    spare.spec.spare_nodes = 1;
    spare.allocation.bad_hosts = {"n1"};
    BOOST_TEST(spare.shape().hosts == (Hosts{"n0", "n2", "n3", "n4"}), boost::test_tools::per_element());
    Job elastic(4);
    elastic.spec.nodes_min = 2;
    elastic.allocation.bad_hosts = {"n1"};
    BOOST_TEST(elastic.shape().shape.nodes == 3);
    BOOST_TEST(elastic.shape().hosts == (Hosts{"n0", "n2", "n3"}), boost::test_tools::per_element());
    BOOST_TEST(elastic.shape().is_part_of_job);
    // Too few good nodes: the run uses the nodes that it has.
    elastic.allocation.bad_hosts = {"n1", "n2", "n3"};
    BOOST_TEST(elastic.shape().shape.nodes == 4);
    BOOST_TEST(elastic.shape().hosts.size() == 4u);
}

BOOST_AUTO_TEST_CASE(a_batch_script_has_its_job_and_the_gpus_of_its_node) {
    Job job(3);
    job.spec.launch = Launch::script;
    job.allocation.gpus_per_node = 2;
    auto const run = job.shape();
    BOOST_TEST(run.hosts.size() == 3u);
    BOOST_TEST(run.shape.slots_per_node == 2);
    BOOST_TEST(run.task_nodes == 1);
    BOOST_TEST(!run.is_part_of_job);
}

BOOST_AUTO_TEST_SUITE_END()
