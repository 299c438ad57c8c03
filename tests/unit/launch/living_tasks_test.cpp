// What a run leaves whose nodes were connected to the supervisor: a file of the run if its tasks may live.
#include <det/foundation/shared_directory.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/rendezvous_file.hpp>
#include <det/transport/node_monitor.hpp>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <csignal>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "resume_point.hpp"
#include "supervisor_fixture.hpp"

using namespace det;
using namespace det::launch::supervisor;
using namespace std::chrono_literals;

namespace living_tasks_test {

/// Run 7.0.0 on two nodes, which are parts of this test.
struct Fixture : SupervisorFixture {
    RunLayout run = experiment.trial(0).run(0);

    bool wait_for(std::filesystem::path const& file) const {
        auto const until = std::chrono::steady_clock::now() + 60s;
        while (!path_exists(file) && std::chrono::steady_clock::now() < until)
            std::this_thread::sleep_for(10ms);
        return path_exists(file);
    }
    transport::NodeBeats::Options node(int number) const {
        auto const address =
            transport::parse_node_monitor_address(trim(must(read_file(root / "address")))).value();
        auto const secret = must(parse_rendezvous_file(must(read_file(run.rendezvous())))).secret;
        return {address, secret, number};
    }
    /// A node joins, and is killed.
    void kill_node(int number) const {
        auto const joined = root / "joined";
        pid_t const pid = ::fork();
        if (pid == 0) {
            auto options = node(number);
            options.on_answer = [&](transport::NodeRequests) { (void)write_file(joined, ""); };
            transport::NodeBeats const beats(std::move(options));
            for (;;) ::pause();
        }
        BOOST_TEST(wait_for(joined));
        ::kill(pid, SIGKILL);
        ::waitpid(pid, nullptr, 0);
    }
    /// A node joins, and ends in order.
    void end_node(int number) const {
        auto const answered = root / "answered";
        (void)remove_tree(answered);
        auto options = node(number);
        options.on_answer = [&](transport::NodeRequests) { (void)write_file(answered, ""); };
        transport::NodeBeats beats(std::move(options));
        BOOST_TEST(wait_for(answered));
        BOOST_TEST((beats.leave() == transport::NodeBeats::Left::known));
    }
    /// Runs the trial.
    /// \param nodes called while the step waits
    /// \param then the rest of the step
    void supervise_nodes(std::function<void()> const& nodes, std::string const& then) {
        step_is(R"(echo "$DET_NODE_MONITOR" >"$DET_ROOT/address.new"
            mv "$DET_ROOT/address.new" "$DET_ROOT/address"
            until [ -e "$DET_ROOT/go" ]; do sleep 0.01; done
            )" + then);
        std::jthread const others([&] {
            BOOST_TEST(wait_for(root / "address"));
            nodes();
            must(write_file(root / "go", ""));
        });
        auto job = batch_job();
        job.spec.max_restarts = 0;
        (void)supervise(job);
    }
    std::vector<std::string> files() const {
        auto names = must(list_directory(run.path()));
        std::ranges::sort(names);
        return names;
    }
};

using Names = std::vector<std::string>;

}  // namespace living_tasks_test

BOOST_FIXTURE_TEST_SUITE(living_tasks_test, living_tasks_test::Fixture)

BOOST_AUTO_TEST_CASE(a_run_whose_nodes_have_ended_in_order_leaves_no_file_although_it_has_failed) {
    supervise_nodes(
        [&] {
            end_node(0);
            end_node(1);
        },
        "exit 3");
    BOOST_TEST(to_string(end_of(0).cause) == "failed");
    BOOST_TEST(files() == Names{"life"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_node_that_was_killed_may_live_as_far_as_the_supervisor_knows) {
    supervise_nodes([&] { kill_node(1); }, "exit 3");
    BOOST_TEST(to_string(end_of(0).cause) == "failed");
    auto left = files();
    std::erase(left, "killed-node");
    BOOST_TEST(left == (Names{"life", "rendezvous", "tasks.pulse"}), boost::test_tools::per_element());
    BOOST_TEST(has_begun(run));  // though no task has written anything
}

BOOST_AUTO_TEST_CASE(a_file_of_a_node_says_that_it_has_ended_if_the_supervisor_has_not_heard_of_it) {
    supervise_nodes([&] { kill_node(1); }, "touch \"$DET_RUN_PATH/node-1.left\"; exit 3");
    BOOST_TEST(files() == Names{"life"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(after_an_end_with_0_of_all_tasks_none_lives) {
    supervise_nodes([&] { kill_node(1); }, "exit 0");
    BOOST_TEST(to_string(end_of(0).cause) == "finished");
    BOOST_TEST(files() == Names{"life"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_run_that_is_left_to_slurm_may_still_run_until_its_step_has_ended) {
    bool was_there = false;
    on_log = [&](std::string const& line) {
        if (line.starts_with("run 7.0.0 ended")) was_there = path_exists(run.living_tasks());
        if (line.starts_with("run 7.0.0 ended")) must(write_file(root / "go", ""));
    };
    step_is("kill -TERM $PPID; until [ -e \"$DET_ROOT/go\" ]; do sleep 0.01; done");
    slurm.job->state = slurm::JobState::completing;
    slurm.job->end_time.reset();
    slurm.job->restarts = 1;
    clock.step = 500ms;
    BOOST_TEST(supervise() == 0);
    BOOST_TEST(to_string(end_of(0).next_action) == "left-to-slurm");
    BOOST_TEST(was_there);
    BOOST_TEST(!path_exists(run.living_tasks()));
}

BOOST_AUTO_TEST_CASE(an_outcome_is_carried_out_although_the_file_of_living_tasks_cannot_be_written) {
    // As with a quota of files: others grow.
    bool was_recorded = false;
    on_log = [&](std::string const& line) {
        if (line.starts_with("run 7.0.0 ended: Slurm preempted")) was_recorded = true;
    };
    must(make_directories(root / "in-place-of-a-file/x"));
    clock.step = 10ms;
    acknowledging_step(R"(trap 'exit 1' EXIT
        echo "$DET_NODE_MONITOR" >"$DET_ROOT/address.new"
        mv "$DET_ROOT/address.new" "$DET_ROOT/address"
        until [ -e "$DET_ROOT/go" ]; do sleep 0.01; done
        cp -r "$DET_ROOT/in-place-of-a-file" "$DET_RUN_PATH/tasks.pulse"
        kill -TERM $PPID)");
    slurm.job->preempt_time = clock.now();
    slurm.job->end_time = UtcTime{clock.now().microseconds + 600'000'000};
    std::jthread const other([&] {
        BOOST_TEST(wait_for(root / "address"));
        kill_node(1);
        must(write_file(root / "go", ""));
    });
    auto const before = clock.steady_now();
    (void)supervise();
    BOOST_TEST(was_recorded);
    BOOST_TEST(std::ranges::count(slurm.calls, "requeue-incomplete 123_0") == 1);
    BOOST_TEST((clock.steady_now() - before < 60s));  // it was tried once
    // Without a recorded end the run may still run.
    auto const life = must(journal::load_journal(run.supervisor_journal()));
    BOOST_TEST(!last_of<RunEnded>(life.records));
}

BOOST_AUTO_TEST_SUITE_END()
