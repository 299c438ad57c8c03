// When an elastic run asks for more nodes.
#include "grow_detector.hpp"

#include <det/protocol/json.hpp>

#include <boost/test/unit_test.hpp>

using namespace det;
using namespace det::launch::supervisor;
using namespace std::chrono_literals;

namespace grow_detector_test {

/// A run of two of at most four nodes, in a partition of five; two other nodes are idle. The job has the
/// priority 100.
struct Fixture {
    BatchJob job{
        ExperimentLayout("/det/experiments/7"), {}, 0, {123, 0}, {0, "n0"}, "n[0-1]", 8, 0, "c", "compute"};
    RunShape run{{2, 1, SlotType::cpu}, {"n0", "n1"}};
    std::vector<slurm::Node> all_nodes;  // of the cluster
    std::vector<slurm::JobStatus> jobs;
    std::vector<std::string> bad;

    Fixture() {
        job.spec.shape = {4, 1, SlotType::cpu};
        job.spec.nodes_min = 1;
        for (auto const* name : {"n0", "n1", "n2", "n3", "n4"}) {
            for (auto const* partition : {"compute", "urgent"})
                all_nodes.push_back({name, partition, "allocated", 8, 8, "", ""});
        }
        make_idle("n2");
        make_idle("n3");
        slurm::JobStatus own;
        own.ref = job.job;
        own.state = slurm::JobState::running;
        own.priority = 100;
        own.partition = "compute";
        jobs.push_back(own);
    }
    void make_idle(std::string const& name) {
        for (auto& node : all_nodes) {
            if (node.name != name) continue;
            node.state = "idle";
            node.cpus_used = 0;
        }
    }
    slurm::JobStatus& add_pending(std::int64_t priority, std::string const& partition) {
        slurm::JobStatus other;
        other.ref = {200, {}};
        other.state = slurm::JobState::pending;
        other.reason = "Resources";
        other.priority = priority;
        other.partition = partition;
        jobs.push_back(other);
        return jobs.back();
    }
    int nodes() const { return nodes_after_requeue(job, run, bad, all_nodes); }
    bool waits_another() const { return waits_another_job(job, all_nodes, jobs); }
};

}  // namespace grow_detector_test

BOOST_FIXTURE_TEST_SUITE(grow_detector, grow_detector_test::Fixture)

BOOST_AUTO_TEST_CASE(idle_nodes_of_the_partition_are_added_up_to_the_largest_size) {
    BOOST_TEST(nodes() == 4);
    make_idle("n4");
    BOOST_TEST(nodes() == 4);
    job.spec.shape.nodes = 3;
    BOOST_TEST(nodes() == 3);
}

BOOST_AUTO_TEST_CASE(excluded_nodes_and_spare_ones_are_not_counted) {
    job.spec.excluded_nodes = "n3";
    BOOST_TEST(nodes() == 3);
    job.spec.spare_nodes = 1;
    BOOST_TEST(nodes() == 2);
}

BOOST_AUTO_TEST_CASE(bad_nodes_are_not_counted_wherever_they_are) {
    bad = {"n2"};
    BOOST_TEST(nodes() == 3);
    // The job has three nodes, one of which its run leaves out: another node is no gain.
    job.hosts = "n[0-1,4]";
    bad = {"n2", "n3", "n4"};
    BOOST_TEST(nodes() == 2);
    // The run uses a bad node, because there were too few others.
    bad = {"n1", "n2", "n3"};
    BOOST_TEST(nodes() == 2);
}

BOOST_AUTO_TEST_CASE(a_pending_job_that_would_start_before_keeps_the_size) {
    BOOST_TEST(!waits_another());
    add_pending(99, "compute");
    BOOST_TEST(!waits_another());
    add_pending(101, "compute,other");
    BOOST_TEST(waits_another());
    jobs.back().reason = "JobHeldUser";
    BOOST_TEST(!waits_another());
    jobs.back().reason = "JobArrayTaskLimit";
    BOOST_TEST(!waits_another());
    add_pending(1, "urgent");
    BOOST_TEST(waits_another());
    jobs.back().partition = "elsewhere";
    BOOST_TEST(!waits_another());
    // Of jobs of the same priority Slurm starts the one with the lower number.
    add_pending(100, "compute");
    BOOST_TEST(!waits_another());
    jobs.back().ref.job = 122;
    BOOST_TEST(waits_another());
}

BOOST_AUTO_TEST_CASE(a_task_of_the_same_array_that_waits_for_its_turn_keeps_the_size) {
    add_pending(100, "compute").ref = {123, {}};
    jobs.back().reason = "JobArrayTaskLimit";
    BOOST_TEST(waits_another());
}

BOOST_AUTO_TEST_CASE(nothing_is_known_of_a_job_that_slurm_does_not_show) {
    jobs.clear();
    BOOST_TEST(waits_another());
}

BOOST_AUTO_TEST_CASE(a_run_is_requeued_after_the_next_checkpoint) {
    GrowDetector::Time const start{};
    GrowDetector detector(GrowPolicy{1800s, 3600s}, start + 1800s);
    BOOST_TEST((*detector.next_check() == start + 1800s));
    BOOST_TEST(!detector.check(false, 4, start + 1800s));
    BOOST_TEST((*detector.next_check() == start + 1860s));
    BOOST_TEST(!detector.check(true, 5, start + 1860s));
    BOOST_TEST(!detector.check(true, 5, start + 1920s));
    BOOST_TEST(detector.check(true, 6, start + 1980s));
    // The nodes were taken meanwhile.
    BOOST_TEST(!detector.check(false, 6, start + 2040s));
    BOOST_TEST(!detector.check(true, 7, start + 2100s));
}

BOOST_AUTO_TEST_CASE(a_trial_is_requeued_for_more_nodes_once_an_hour) {
    constexpr std::int64_t second = 1'000'000;
    GrowPolicy const policy{600s, 3600s};
    auto const wait = [&](std::vector<PastGrowth> const& growths, std::int64_t now_s) {
        return wait_before_growing(policy, growths, 4, UtcTime{now_s * second});
    };
    BOOST_TEST((wait({}, 0) == 600s));
    BOOST_TEST((wait({{UtcTime{0}, 2}}, 100) == 3500s));
    BOOST_TEST((wait({{UtcTime{0}, 2}}, 3500) == 600s));
    BOOST_TEST((wait({{UtcTime{0}, 2, 3}, {UtcTime{0}, 2, 2}}, 100) == 3500s));
    // The clock of the node of the earlier run was ahead.
    BOOST_TEST((wait({{UtcTime{50 * second}, 2}}, 0) == 3600s));
}

BOOST_AUTO_TEST_CASE(requeues_that_brought_no_nodes_are_repeated_more_and_more_seldom) {
    GrowPolicy const policy{600s, 3600s};
    std::vector<PastGrowth> growths{{UtcTime{0}, 4}};  // as many as now
    BOOST_TEST((wait_before_growing(policy, growths, 4, UtcTime{0}) == 7200s));
    BOOST_TEST((wait_before_growing(policy, growths, 5, UtcTime{0}) == 3600s));
    growths.push_back({UtcTime{0}, 4, 3});
    BOOST_TEST((wait_before_growing(policy, growths, 4, UtcTime{0}) == 4 * 3600s));
    growths.insert(growths.end(), 100, {UtcTime{0}, 4, 4});
    BOOST_TEST((wait_before_growing(policy, growths, 4, UtcTime{0}) == 32 * 3600s));
}

BOOST_AUTO_TEST_CASE(the_grow_policy_is_in_the_configuration) {
    job.spec.config = parse_json(R"({"slurm": {"grow": {"after": 1800}}})");
    BOOST_TEST((find_grow_policy(job.spec).value().after == 1800s));
    BOOST_TEST((find_grow_policy(job.spec).value().every == 3600s));
    job.spec.config = parse_json(R"({"slurm": {"grow": {"after": 10, "every": 20}}})");
    BOOST_TEST((find_grow_policy(job.spec).value().every == 20s));
    for (auto const* wrong : {R"({"after": "soon"})", R"({"after": -1})", R"({"after": 9000000000000000000})",
                              R"({"every": 20})", "[]", "7"}) {
        job.spec.config = parse_json(R"({"slurm": {"grow": )" + std::string(wrong) + "}}");
        BOOST_TEST(!find_grow_policy(job.spec), wrong);
    }
    job.spec.config = parse_json(R"({"slurm": {"grow": {"after": 10}}})");
    job.spec.nodes_min = 0;
    BOOST_TEST(!find_grow_policy(job.spec));
}

BOOST_AUTO_TEST_SUITE_END()
