// What SlurmClient promises, kept by the commands of a real Slurm.
#include <det/slurm/command_client.hpp>

#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "check_result.hpp"
#include "loopback_cluster.hpp"

using namespace det;
using namespace det::slurm;
using namespace std::chrono_literals;

namespace {

/// Runs commands as researcher on the login node.
class LoginRunner final : public ProcessRunner {
public:
    explicit LoginRunner(LoopbackCluster const& cluster) : cluster_(cluster) {}

    Result<ProcessOutput> run(Command const& command) override {
        std::vector<std::string> argv{"env"};
        for (auto const* name : {"SLURM_TIME_FORMAT"}) {
            if (auto const value = command.environment.find(name))
                argv.push_back(std::string(name) + "=" + std::string(*value));
        }
        argv.insert(argv.end(), command.argv.begin(), command.argv.end());
        return cluster_.login("researcher", argv, command.timeout);
    }

private:
    LoopbackCluster const& cluster_;
};

struct Site {
    LoopbackCluster cluster;
    LoginRunner runner{cluster};
    CommandClient slurm{runner, Environment::of_this_process()};

    Submission sleeper(std::vector<std::string> options) {
        cluster.shell("printf '#!/bin/bash\\nsleep 300\\n' >sleeper");
        options.push_back("--output=/dev/null");
        return {std::move(options), cluster.home() / "sleeper", Environment::of_this_process()};
    }

    JobStatus look(JobRef const& job) {
        auto const status = must(slurm.find_job(job));
        BOOST_REQUIRE_MESSAGE(status, "Slurm does not know " << to_string(job));
        return *status;
    }

    void wait_for(JobRef const& job, JobState state) {
        cluster.wait_until([&] { return look(job).state == state; }, 30s, "the state of " + to_string(job));
    }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(slurm_client, Site)

BOOST_AUTO_TEST_CASE(partitions_are_read_as_they_are_configured) {
    auto const partitions = must(slurm.partitions());
    BOOST_REQUIRE(partitions.size() == 2u);
    auto const& compute = partitions[0].name == "compute" ? partitions[0] : partitions[1];
    BOOST_TEST(compute.is_default);
    BOOST_TEST(compute.is_up);
    BOOST_TEST(compute.preempt_mode == "REQUEUE");
    BOOST_TEST((compute.grace_time == 30s));
    BOOST_TEST(compute.node_count() == 2);
    BOOST_TEST(parse_gpu_count(compute.nodes.at(0).gres) == 4);
}

BOOST_AUTO_TEST_CASE(a_held_job_waits_until_it_is_released_and_ends_when_cancelled) {
    auto const id = must(slurm.submit(sleeper({"--hold", "--array=0-1", "--nodes=1", "--job-name=two words",
                                               "--comment=det:somewhere/1", "--gres=gpu:4"})));
    JobRef const first{id, 0}, second{id, 1};
    BOOST_TEST((look(first).state == JobState::pending));
    BOOST_TEST(look(second).reason == "JobHeldUser");

    must(slurm.release({id}));
    wait_for(first, JobState::running);
    wait_for(second, JobState::running);
    auto const status = look(second);
    BOOST_TEST(status.name == "two words");
    BOOST_TEST(status.comment == "det:somewhere/1");
    BOOST_TEST(status.user == "researcher");
    BOOST_TEST(status.partition == "compute");
    BOOST_TEST(status.nodes == 1);
    BOOST_TEST(parse_gpu_count(status.tres_per_node) == 4);
    BOOST_TEST(!status.preempt_time);
    BOOST_TEST(status.start_time.has_value());

    must(slurm.cancel(first));
    wait_for(first, JobState::canceled);
    BOOST_TEST((look(second).state == JobState::running));
    BOOST_TEST(must(slurm.queue({.user = "researcher"})).size() == 1u);
    must(slurm.cancel({id}));
    wait_for(second, JobState::canceled);
}

BOOST_AUTO_TEST_CASE(a_requeued_job_waits_as_long_as_it_is_told_and_a_cancelled_one_is_left_alone) {
    auto const id = must(slurm.submit(sleeper({"--array=0", "--requeue"})));
    JobRef const task{id, 0};
    wait_for(task, JobState::running);
    must(slurm.requeue(task, SlurmClient::RequeueScope::incomplete));
    must(slurm.start_not_before(task, 600s));
    wait_for(task, JobState::pending);
    BOOST_TEST(look(task).restarts == 1u);

    must(slurm.cancel(task));
    wait_for(task, JobState::canceled);
    (void)slurm.requeue(task, SlurmClient::RequeueScope::incomplete);  // which Slurm may call a success
    BOOST_TEST((look(task).state == JobState::canceled));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_is_refused_with_slurms_own_words) {
    auto const error = must_fail(slurm.test_submission(sleeper({"--partition=nowhere"})));
    BOOST_TEST((error.code == codes::slurm_refused));
    BOOST_REQUIRE(!error.notes.empty());
    BOOST_TEST(error.notes.back().find("invalid partition") != std::string::npos, error.notes.back());
    BOOST_TEST((must_fail(slurm.submit(sleeper({"--partition=nowhere"}))).code == codes::slurm_refused));
    BOOST_TEST((must_fail(slurm.release({4711})).code == codes::slurm_refused));
    BOOST_TEST(!must(slurm.find_job({4711})));
    BOOST_TEST(must(slurm.queue({})).empty());

    BOOST_TEST(must(slurm.test_submission(sleeper({"--nodes=2"}))).find("to start at") != std::string::npos);
    BOOST_TEST(must(slurm.queue({.include_finished = true})).empty());
}

BOOST_AUTO_TEST_CASE(a_slurmctld_that_is_gone_is_unreachable) {
    cluster.command({"daemon", "kill", "slurmctld"});
    BOOST_TEST((must_fail(slurm.partitions()).code == codes::slurm_unreachable));
    BOOST_TEST((must_fail(slurm.submit(sleeper({}))).code == codes::slurm_unreachable));
}

BOOST_AUTO_TEST_SUITE_END()
