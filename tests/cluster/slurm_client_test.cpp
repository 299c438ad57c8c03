// The SlurmClient that runs commands, tested with a real Slurm.
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/slurm/command_client.hpp>

#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "check_result.hpp"
#include "loopback_cluster.hpp"
#include "slurm_conformance.hpp"
#include "slurm_readings.hpp"
#include "test_paths.hpp"

using namespace det;
using namespace det::slurm;
using namespace std::chrono_literals;

namespace slurm_client {

/// Runs commands as researcher on the login node.
class LoginRunner final : public ProcessRunner {
public:
    explicit LoginRunner(LoopbackCluster const& cluster) : cluster_(cluster) {}

    Result<ProcessOutput> run(Command const& command) override {
        std::vector<std::string> argv{"env"};
        for (auto const* name : {"SLURM_TIME_FORMAT", "SLURM_BITSTR_LEN", "SQUEUE_FORMAT2"}) {
            if (auto const value = command.environment.find(name))
                argv.push_back(std::string(name) + "=" + std::string(*value));
        }
        argv.insert(argv.end(), command.argv.begin(), command.argv.end());
        auto login = cluster_.login_command("researcher", argv, command.timeout);
        login.last_message = command.last_message;
        return SystemProcessRunner().run(login);
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

    JobStatus read_status(JobRef const& job) {
        auto const status = must(slurm.query_job(job));
        BOOST_REQUIRE_MESSAGE(status, "Slurm does not know " << to_string(job));
        return *status;
    }

    void wait_for(JobRef const& job, JobState state) {
        cluster.wait_until([&] { return read_status(job).state == state; }, 30s,
                           "the state of " + to_string(job));
    }
};

}  // namespace slurm_client

BOOST_FIXTURE_TEST_SUITE(slurm_client, Site)

BOOST_AUTO_TEST_CASE(partitions_are_read_as_they_are_configured) {
    auto const partitions = must(slurm.query_partitions());
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
    BOOST_TEST((read_status(first).state == JobState::pending));
    BOOST_TEST(read_status(second).reason == "JobHeldUser");

    must(slurm.release({id}));
    wait_for(first, JobState::running);
    wait_for(second, JobState::running);
    auto const status = read_status(second);
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
    BOOST_TEST((read_status(second).state == JobState::running));
    BOOST_TEST(must(slurm.query_queue({.user = "researcher"})).size() == 1u);
    must(slurm.cancel({id}));
    wait_for(second, JobState::canceled);
}

BOOST_AUTO_TEST_CASE(a_requeued_job_waits_for_the_given_delay_and_a_cancelled_job_is_not_requeued) {
    auto const id = must(slurm.submit(sleeper({"--array=0", "--requeue"})));
    JobRef const task{id, 0};
    wait_for(task, JobState::running);
    must(slurm.requeue(task, SlurmClient::RequeueScope::incomplete));
    must(slurm.start_not_before(task, 600s));
    wait_for(task, JobState::pending);
    BOOST_TEST(read_status(task).restarts == 1u);

    must(slurm.cancel(task));
    wait_for(task, JobState::canceled);
    (void)slurm.requeue(task, SlurmClient::RequeueScope::incomplete);  // Slurm may report success
    BOOST_TEST((read_status(task).state == JobState::canceled));
}

BOOST_AUTO_TEST_CASE(an_impossible_request_fails_with_slurms_message) {
    auto const error = must_fail(slurm.test_submission(sleeper({"--partition=nowhere"})));
    BOOST_TEST((error.code == codes::slurm_refused));
    BOOST_REQUIRE(!error.notes.empty());
    BOOST_TEST(error.notes.back().find("invalid partition") != std::string::npos, error.notes.back());
    BOOST_TEST((must_fail(slurm.submit(sleeper({"--partition=nowhere"}))).code == codes::slurm_refused));
    BOOST_TEST((must_fail(slurm.release({4711})).code == codes::slurm_refused));
    BOOST_TEST(!must(slurm.query_job({4711})));
    BOOST_TEST(must(slurm.query_queue({})).empty());

    BOOST_TEST(must(slurm.test_submission(sleeper({"--nodes=2"}))).find("to start at") != std::string::npos);
    BOOST_TEST(must(slurm.query_queue({.include_finished = true})).empty());
}

BOOST_AUTO_TEST_CASE(nodes_are_listed_per_partition_with_the_gpus_in_use) {
    auto const is_busy = [](Node const& node) { return node.cpus_used > 0; };
    auto nodes = must(slurm.query_nodes());
    BOOST_REQUIRE(nodes.size() == 4u);  // two nodes in two partitions
    BOOST_TEST(std::none_of(nodes.begin(), nodes.end(), is_busy));
    BOOST_TEST(std::all_of(nodes.begin(), nodes.end(), [](auto const& node) { return node.is_free(); }));
    BOOST_TEST(parse_gpu_count(nodes[0].gres) == 4);
    BOOST_TEST(parse_gpu_count(nodes[0].gres_used) == 0);

    JobRef const job{must(slurm.submit(sleeper({"--nodes=1", "--exclusive", "--gres=gpu:4"}))), {}};
    wait_for(job, JobState::running);
    auto const host = read_status(job).batch_host;
    nodes = must(slurm.query_nodes());
    for (auto const& node : nodes) {
        BOOST_TEST(node.is_free() == (node.name != host));
        BOOST_TEST(node.cpus_used == (node.name == host ? node.cpus : 0));
        BOOST_TEST(parse_gpu_count(node.gres_used) == (node.name == host ? 4 : 0));  // the whole node
    }
    cluster.login("root", {"scontrol", "update", "NodeName=n1", "State=DRAIN", "Reason=a test"});
    for (auto const& node : must(slurm.query_nodes()))
        BOOST_TEST(node.is_unavailable() == (node.name == "n1"));
    must(slurm.cancel(job));
}

BOOST_AUTO_TEST_CASE(a_plain_user_can_read_the_configuration) {
    auto const config = must(slurm.query_cluster_config());
    BOOST_TEST(config.find_number("MaxArraySize").value() == 1001);
    BOOST_TEST(config.find_number("MinJobAge").value() == 300);
    BOOST_TEST(config.has_option("SchedulerParameters", "bf_interval"));
    BOOST_TEST(!config.has_option("SchedulerParameters", "enable_user_top"));
}

BOOST_AUTO_TEST_CASE(an_owner_can_update_a_pending_job_within_slurms_limits) {
    auto const id = must(slurm.submit(sleeper({"--hold", "--array=0-1", "--nice=100"})));
    JobRef const first{id, 0}, second{id, 1};
    must(slurm.update_job(first, {.nice = 300, .partition = "urgent"}));
    BOOST_TEST(read_status(first).nice == 300);
    BOOST_TEST(read_status(first).partition == "urgent");
    BOOST_TEST(read_status(second).nice == 100);
    must(slurm.update_job(first, {.nice = 0}));
    BOOST_TEST(read_status(first).nice == 0);
    BOOST_TEST((must_fail(slurm.update_job(first, {.nice = -5})).code == codes::slurm_refused));
    BOOST_TEST(
        (must_fail(slurm.update_job(first, {.priority = 4'000'000'000})).code == codes::slurm_refused));
    BOOST_TEST((must_fail(slurm.move_to_top({second})).code == codes::slurm_refused));

    cluster.login("root", {"scontrol", "update", "PartitionName=compute", "State=DOWN"});
    must(slurm.release({id}));
    cluster.wait_until([&] { return read_status(second).reason != "JobHeldUser"; }, 30s, "release");
    must(slurm.hold(second));
    BOOST_TEST(read_status(second).reason == "JobHeldUser");
    BOOST_TEST(read_status(second).priority == 0);
    must(slurm.cancel({id}));
    BOOST_TEST((must_fail(slurm.hold({4711, {}})).code == codes::slurm_refused));
}

BOOST_AUTO_TEST_CASE(a_signal_to_the_batch_script_reaches_it_once_while_other_tasks_of_its_array_wait) {
    cluster.shell(
        "printf '#!/bin/bash\\ntrap \"echo poked >>$HOME/poked\" USR2\\ntouch $HOME/trapped\\n"
        "while :; do sleep 0.1; done\\n' >poked-job");
    auto submission = sleeper({"--nodes=1", "--array=0-2%1"});
    submission.script = cluster.home() / "poked-job";
    JobRef const job{must(slurm.submit(submission)), 0};
    // The script must have set its trap, or the signal would end it.
    cluster.wait_until([&] { return path_exists(cluster.home() / "trapped"); }, 30s, "the trap");
    // While two more tasks wait, Slurm 22.05 and 26.05 answer that the first can't be altered, although it is
    // signalled. scancel would repeat the signal after 5 s.
    auto const started = std::chrono::steady_clock::now();
    must(slurm.signal_batch(job, "USR2"));
    BOOST_TEST((std::chrono::steady_clock::now() - started < 4s));
    cluster.wait_until([&] { return path_exists(cluster.home() / "poked"); }, 30s, "the signal");
    BOOST_TEST(cluster.shell("cat poked") == "poked");
    must(slurm.cancel({job.job, {}}));
}

BOOST_AUTO_TEST_CASE(both_backends_read_the_same_values_for_every_kind_of_job) {
    auto const jobs = cluster.shell(must(read_file(det::test::source_path("tests/support/slurm-jobs"))));
    auto const by_commands = readings_of(slurm);
    check_readings(by_commands, jobs);
#ifdef DET_HAVE_LIBSLURM
    auto const probe = (cluster.state() / "software/tests/slurm_probe").string();
    auto const by_libslurm = nlohmann::json::parse(cluster.shell(probe + " libslurm"));
    check_readings(by_libslurm, jobs);
    BOOST_TEST(nlohmann::json::diff(by_commands, by_libslurm).dump(1) == "[]");
#else
    BOOST_TEST_MESSAGE("SKIPPED: the libslurm backend is not built");
#endif
    // The name of a job can't forge a row of the printed table.
    auto const table = cluster.shell("det-submit job list --array");
    BOOST_TEST(split_lines(table).size() == 2 + by_commands.at("queue").size());
    BOOST_TEST(table.find('\x1b') == std::string::npos);
    BOOST_TEST(table.find("\n999999") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(calls_wait_for_a_restart_of_slurmctld_and_fail_if_it_stays_down) {
    auto const job_list = [&](std::string const& backend) {
        return cluster.login("researcher",
                             {"env", "DET_SLURM_BACKEND=" + backend, "det-submit", "job", "list"});
    };
    cluster.command({"daemon", "kill", "slurmctld"});
    BOOST_TEST((must_fail(slurm.query_partitions()).code == codes::slurm_unreachable));
    BOOST_TEST((must_fail(slurm.submit(sleeper({}))).code == codes::slurm_unreachable));
    for (auto const* backend : {"commands", "libslurm", ""}) {
        auto const started = std::chrono::steady_clock::now();
        auto const output = job_list(backend);
        BOOST_TEST(output.exit_code == to_int(ExitCode::slurm_unreachable), backend << ": " << output.err);
        BOOST_TEST(output.err.find("Slurm does not answer") != std::string::npos, output.err);
        BOOST_TEST((std::chrono::steady_clock::now() - started < 30s), backend);
    }
    cluster.command({"daemon", "start", "slurmctld"});
    for (auto const* backend : {"commands", "libslurm"}) {
        auto const output = job_list(backend);
        BOOST_TEST(output.exit_code == 0, backend << ": " << output.err);
    }
}

#ifdef DET_HAVE_LIBSLURM
BOOST_AUTO_TEST_CASE(a_configuration_that_libslurm_rejects_is_an_error_and_not_a_crash) {
    cluster.shell("echo 'NoSuchThing=1' >bad.conf");
    for (auto const* path : {"$HOME/bad.conf", "$HOME/absent.conf"}) {
        for (auto const* backend : {"libslurm", ""}) {
            auto const output =
                cluster.login("researcher", {"bash", "-c",
                                             std::string("SLURM_CONF=") + path +
                                                 " DET_SLURM_BACKEND=" + backend + " det-submit job list"});
            BOOST_TEST(output.exit_code != 0);
            BOOST_TEST(output.exit_code < 8, output.err);
            BOOST_TEST(output.err.find("error: ") != std::string::npos, output.err);
            BOOST_TEST(output.out == "");
        }
    }
}
#endif

BOOST_AUTO_TEST_SUITE_END()
