// det-wrap-rank as a process: signals, forced ends, and what they leave.
#include <det/foundation/clock.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/process.hpp>
#include <det/foundation/shared_directory.hpp>
#include <det/foundation/text.hpp>
#include <det/journal/reader.hpp>
#include <det/launch/node/node_topology.hpp>
#include <det/liveness/wait_recorder.hpp>
#include <det/preemption/notice_page.hpp>
#include <det/protocol/directory_layout.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/rank_failure.hpp>
#include <det/protocol/rendezvous_file.hpp>
#include <det/telemetry/waits/run_waits.hpp>
#include <det/transport/node_monitor.hpp>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <csignal>
#include <fmt/format.h>
#include <sys/inotify.h>
#include <thread>
#include <unistd.h>

#include "check_result.hpp"
#include "temporary_directory.hpp"
#include "test_paths.hpp"

using namespace det;

namespace wrapped_process_test {

std::string const wrapper = det::test::built_path("bin/det-wrap-rank");

/// Runs a shell script in its own directory, with WRAP as the path of the wrapper.
struct Fixture {
    TemporaryDirectory directory;
    Environment environment = Environment::of_this_process();

    Fixture() {
        environment.set("WRAP", wrapper);
        environment.set("DIR", directory.path().string());
        // Writes its parent's number and its own to the file `ready`, and ends with its argument after TERM.
        must(write_file(directory / "saves.py", R"(
import os, signal, sys, time
os.chdir(os.path.dirname(sys.argv[0]))
parent, notices = os.getppid(), []
signal.signal(signal.SIGTERM, lambda *_: notices.append(1))
with open("ready.new", "w") as file:
    file.write(f"{parent} {os.getpid()}")
os.rename("ready.new", "ready")
while not notices or os.getppid() == parent:
    time.sleep(0.01)
open("saved", "w").close()
sys.exit(int(sys.argv[1]))
)"));
    }

    ProcessOutput shell(std::string const& script) const {
        SystemProcessRunner runner;
        return must(runner.run(
            {{"/bin/bash", "-c", "cd \"$DIR\"\n" + script}, environment, std::chrono::seconds(30)}));
    }

    /// The environment of a rank that a launcher starts inside a run.
    void be_in_a_run() {
        auto const page = directory / "preempt";
        must(preemption::NoticePage::create(page));
        for (auto const& [name, value] : std::vector<std::pair<std::string, std::string>>{
                 {"SLURM_JOB_ID", "12"},
                 {"SLURM_STEP_ID", "0"},
                 {"SLURM_PROCID", "0"},
                 {"SLURM_NTASKS", "1"},
                 {"SLURM_LOCALID", "0"},
                 {"SLURM_NODEID", "0"},
                 {"SLURM_NNODES", "1"},
                 {"SLURM_STEP_NUM_TASKS", "1"},
                 {"SLURM_STEP_NUM_NODES", "1"},
                 {"SLURM_STEP_NODELIST", "n1"},
                 {"SLURM_STEP_TASKS_PER_NODE", "1"},
                 {"SLURM_JOB_NODELIST", "n1"},
                 {"SLURM_TASKS_PER_NODE", "1"},
                 {"SLURMD_NODENAME", "n1"},
                 {"DET_RUN_KEY", "7.0.0"},
                 {"DET_RUN_JOB", "12"},
                 {"DET_RUN_PATH", directory.path().string()},
                 {"DET_PLACED", "12.0.0"},
                 {"DET_RUN_DIR", directory.path().string()},
                 {"DET_RANK_LOG", (directory / "node-0.log").string()}}) {
            environment.set(name, value);
        }
    }
    /// The environment of a task that Slurm starts in a run, on this machine.
    void be_the_first_task_of_a_run() {
        be_in_a_run();
        environment.set("DET_STEP_REQUESTS", "1");
        for (auto const* name : {"DET_PLACED", "DET_RUN_DIR", "DET_RANK_LOG"}) environment.unset(name);
        environment.set("DET_LOCAL_DIR", directory.path().string());
        environment.set("DET_RUN_PATH", (directory / "runs/0").string());
        for (auto const* name : {"SLURM_STEP_NODELIST", "SLURMD_NODENAME", "DET_RUN_HOSTS"})
            environment.set(name, "localhost");
        environment.set("DET_SLOT_COUNTS", "1");
    }
    bool notice_came() const { return must(preemption::NoticePage::open(directory / "preempt")).is_raised(); }
};

/// The names that appear in a directory.
class CreatedNames {
public:
    explicit CreatedNames(std::filesystem::path const& directory)
        : events_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
        BOOST_REQUIRE(::inotify_add_watch(events_.get(), directory.c_str(), IN_CREATE | IN_MOVED_TO) >= 0);
    }
    std::vector<std::string> take() const {
        std::vector<std::string> names;
        alignas(inotify_event) char buffer[65536];
        for (;;) {
            auto const size = ::read(events_.get(), buffer, sizeof buffer);
            if (size <= 0) return names;
            for (std::size_t at = 0; at < static_cast<std::size_t>(size);) {
                auto const* event = reinterpret_cast<inotify_event const*>(buffer + at);
                names.emplace_back(event->name);
                at += sizeof(inotify_event) + event->len;
            }
        }
    }

private:
    UniqueFd const events_;
};

// Waits for a file; the runner's timeout ends the test otherwise.
constexpr char until[] = "until_there() { until [ -e \"$1\" ]; do sleep 0.01; done; }\n";

}  // namespace wrapped_process_test

BOOST_FIXTURE_TEST_SUITE(wrapped_process_test, Fixture)

BOOST_AUTO_TEST_CASE(outside_of_a_run_a_signal_reaches_the_commands_process_group) {
    for (std::string const signal : {"TERM", "INT", "HUP", "QUIT", "USR1", "USR2", "ALRM"}) {
        // Shells ignore INT and QUIT in what they start in the background.
        auto const output = shell(until + fmt::format(R"sh(rm -f ready one two
            env --default-signal=INT --default-signal=QUIT "$WRAP" 0 bash -c '
              trap "exit 3" {0}
              python3 -c "
import signal  # blocked and taken: one that comes just before a pause() would be slept over
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIG{0}])
open(\"ready\", \"w\")
signal.sigwait([signal.SIG{0}])
open(\"two\", \"w\")" &
              wait; wait; exit 9' &
            until_there ready
            kill -{0} $!
            wait $!
            code=$?
            until_there two
            exit $code)sh",
                                                      signal));
        BOOST_TEST(output.exit_code == 3, signal << ": " << output.out << output.err);
    }
}

BOOST_AUTO_TEST_CASE(a_command_is_killed_without_a_failure_once_a_newer_run_exists) {
    be_the_first_task_of_a_run();
    environment.set("DET_SILENCE_S", "4");  // a check every half second
    auto const output = shell(until + std::string(R"sh(
        mkdir -p runs/0
        "$WRAP" --node bash -c 'echo $$ >pid; exec sleep 60' &
        until_there runs/0/node-0.pulse
        mkdir runs/2
        wait $!
        code=$?
        ls runs/0
        exit $code)sh"));
    BOOST_TEST(output.exit_code == 0, output.err);
    BOOST_TEST(output.out == "node-0.log\n", output.out);
}

BOOST_AUTO_TEST_CASE(a_rank_runs_on_the_cpus_of_its_share_and_records_them) {
    auto const cpus = launch::node::own_cpus();
    if (cpus.size() < 2) {
        BOOST_TEST_MESSAGE("skipped: this process may use one CPU only");
        return;
    }
    be_in_a_run();
    environment.set("DET_BIND", "1,0");
    for (auto const& [name, value] : {std::pair{"RANK", "4"}, {"LOCAL_RANK", "0"}, {"LOCAL_WORLD_SIZE", "2"}})
        environment.set(name, value);
    auto const output = shell("\"$WRAP\" RANK sed -n 's/^Cpus_allowed_list:.//p' /proc/self/status");
    std::vector<int> const second_half(cpus.begin() + static_cast<int>(cpus.size() / 2), cpus.end());
    auto const placements = must(journal::load_rank_placements(RunLayout(directory.path())));
    BOOST_REQUIRE(placements.size() == 1u);
    BOOST_TEST(placements[0].rank == 4u);
    BOOST_TEST(placements[0].host == "n1");
    BOOST_TEST(output.out == fmt::format("[rank=4] {}\n", placements[0].cpus));
    // Threads of a core stay together, so only machines without them have exactly these CPUs.
    auto const bound = launch::node::parse_cpu_list(placements[0].cpus);
    BOOST_TEST(bound.size() == second_half.size());
    // Without slurm.bind the rank stays where its launcher has put it.
    environment.unset("DET_BIND");
    auto const unbound = shell("\"$WRAP\" RANK sed -n 's/^Cpus_allowed_list:.//p' /proc/self/status");
    BOOST_TEST(unbound.out == fmt::format("[rank=4] {}\n", launch::node::render_cpu_list(cpus)));
}

BOOST_AUTO_TEST_CASE(a_wrapper_whose_heartbeat_shows_activity_still_looks_for_a_newer_run) {
    be_the_first_task_of_a_run();
    environment.set("DET_SILENCE_S", "24");  // a check every four seconds, activity every second
    environment.set("DET_SHOWS_ACTIVITY", "1");
    liveness::WaitRecorder recorder(must(liveness::WaitPage::open_for_writing(directory / "page", 0)), 0, 0);
    std::jthread const ranks([&](std::stop_token const& stop) {
        while (!stop.stop_requested()) {
            recorder.begin_operation(liveness::WaitOperation::barrier);
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
    });
    auto const output = shell(R"sh(
        mkdir -p runs/0
        "$WRAP" --node bash -c 'ln -s "$0/page" "$DET_RUN_DIR/waits"; exec sleep 60' "$DIR" &
        until grep -q 0 runs/0/node-0.pulse 2>/dev/null; do sleep 0.01; done
        mkdir runs/2
        wait $!)sh");
    BOOST_TEST(output.exit_code == 0, output.err);
}

BOOST_AUTO_TEST_CASE(a_connected_wrapper_follows_the_requests_in_the_answers_to_its_beats) {
    be_the_first_task_of_a_run();
    environment.set("DET_SILENCE_S", "600");  // files are looked at each 100 s
    auto const run = directory / "runs/0";
    must(make_directories(run));
    must(write_secret_file(run / "rendezvous", render_rendezvous_file({"a secret"})));
    auto const monitor = must(transport::NodeMonitor::start("a secret", 1, std::nullopt));
    environment.set("DET_NODE_MONITOR",
                    transport::render_node_monitor_address({monitor->port(), 1, {"127.0.0.1"}}));
    std::jthread const supervisor([&](std::stop_token const& stop) {
        while (!stop.stop_requested()) {
            if (path_exists(directory / "begun")) monitor->request(transport::node_requests::stop);
            if (path_exists(run / "told")) {
                (void)make_directory(directory / "runs/2");
                monitor->request(transport::node_requests::superseded);
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
    });
    CreatedNames const created(run);
    auto const output = shell(R"sh("$WRAP" --node bash -c 'touch "$0/begun"
        until od -An -tx8 -j16 -N8 "$DET_RUN_DIR/preempt" | grep -q "[1-9a-f]"; do sleep 0.01; done
        touch "$0/runs/0/told"; exec sleep 60' "$DIR" </dev/null)sh");
    BOOST_TEST(output.exit_code == 0, output.err);
    BOOST_TEST(path_exists(run / "told"));
    BOOST_TEST(!path_exists(run / "node-0.pulse"));
    BOOST_TEST(!path_exists(run / "node-0.ends"));
    // The node has made no file of its own, and the supervisor knows that it has ended in order.
    BOOST_TEST((created.take() == std::vector<std::string>{"node-0.log", "told"}));
    auto const has_left = [&] {
        return monitor->nodes().at(0).presence == transport::NodeMonitor::Presence::left;
    };
    auto const give_up_at = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!has_left() && std::chrono::steady_clock::now() < give_up_at)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    BOOST_TEST(has_left());
}

BOOST_AUTO_TEST_CASE(
    a_wrapper_that_cannot_connect_makes_its_file_after_a_while_and_says_in_one_that_it_ends) {
    be_the_first_task_of_a_run();
    environment.set("DET_SILENCE_S", "12");  // the file is used after 2 s
    auto const run = directory / "runs/0";
    must(make_directories(run));
    must(write_secret_file(run / "rendezvous", render_rendezvous_file({"a secret"})));
    // Nothing listens there.
    environment.set("DET_NODE_MONITOR", transport::render_node_monitor_address({1, 1, {"127.0.0.1"}}));
    CreatedNames const created(run);
    auto const output = shell(until + std::string(R"sh(
        "$WRAP" --node bash -c 'until_there() { until [ -e "$1" ]; do sleep 0.01; done; }
            until_there "$0/runs/0/node-0.pulse"; exit 4' "$DIR" </dev/null)sh"));
    BOOST_TEST(output.exit_code == 4, output.err);
    BOOST_TEST(!path_exists(run / "node-0.pulse"));
    auto const names = created.take();
    BOOST_TEST(std::ranges::count(names, "node-0.pulse") == 1);
    BOOST_TEST(std::ranges::count(names, "node-0.left") == 1);
    // The end is recorded before the node says that it has ended.
    BOOST_TEST((std::ranges::find(names, "node-0.ends") < std::ranges::find(names, "node-0.left")));
}

BOOST_AUTO_TEST_CASE(a_wrapper_that_is_killed_says_nothing) {
    be_the_first_task_of_a_run();
    auto const run = directory / "runs/0";
    must(make_directories(run));
    must(write_secret_file(run / "rendezvous", render_rendezvous_file({"a secret"})));
    auto const monitor = must(transport::NodeMonitor::start("a secret", 1, std::nullopt));
    environment.set("DET_NODE_MONITOR",
                    transport::render_node_monitor_address({monitor->port(), 1, {"127.0.0.1"}}));
    std::jthread const killer([&](std::stop_token const& stop) {
        while (!stop.stop_requested() && !monitor->nodes().at(0).is_heard())
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        must(write_file(directory / "joined", ""));
    });
    auto const output = shell(until + std::string(R"sh(
        "$WRAP" --node sleep 60 </dev/null &
        until_there joined
        kill -KILL $!
        wait $!)sh"));
    BOOST_TEST(output.exit_code == 128 + SIGKILL, output.err);
    BOOST_TEST((monitor->nodes().at(0).presence == transport::NodeMonitor::Presence::joined));
    BOOST_TEST(!path_exists(run / "node-0.pulse"));
    BOOST_TEST(!path_exists(run / "node-0.left"));
}

BOOST_AUTO_TEST_CASE(when_a_run_hangs_a_program_that_handles_the_signal_prints_its_stack_into_the_log) {
    be_the_first_task_of_a_run();
    auto const output = shell(until + std::string(R"sh(
        mkdir -p runs/0
        mkfifo requests
        "$WRAP" 3 /usr/bin/python3 -c '
import faulthandler, signal, threading
faulthandler.register(signal.SIGUSR1)
def wait_for_no_one():
    open("'"$DIR"'/ready", "w"); threading.Event().wait()
wait_for_no_one()' <requests >/dev/null 2>&1 &
        wrapper=$!
        exec 3>requests
        until_there ready
        echo stacks >&3
        until grep -q 'in wait_for_no_one' runs/0/node-0.log; do sleep 0.01; done
        kill -KILL $wrapper
        wait $wrapper
        cat runs/0/node-0.log)sh"));
    BOOST_TEST(output.out.find("prints its stack on SIGUSR1") != std::string::npos, output.out);
    BOOST_TEST(
        output.out.find("[rank=3]   File \"<string>\", line 5 in wait_for_no_one") != std::string::npos,
        output.out);
}

BOOST_AUTO_TEST_CASE(when_a_run_hangs_a_program_without_a_handler_has_a_stack_or_a_reason_and_lives_on) {
    be_the_first_task_of_a_run();
    constexpr char script[] = R"sh(
        rm -rf runs ready stop requests; mkdir -p runs/0; mkfifo requests
        "$WRAP" 3 bash -c 'cd "$0"; touch ready; until [ -e stop ]; do sleep 0.01; done; exit 7' "$DIR" <requests >/dev/null 2>&1 &
        exec 3>requests
        until_there ready
        echo stacks >&3
        until grep -q 'stack of process' runs/0/node-0.log; do sleep 0.01; done
        touch stop
        wait $!
        code=$?
        cat runs/0/node-0.log
        exit $code)sh";
    auto const with_debugger = shell(std::string(until) + script);
    BOOST_TEST(with_debugger.exit_code == 7, with_debugger.err);
    environment.set("PATH", directory.path().string());  // the programs of the script, but no debugger
    auto const without = shell(
        "for name in rm mkdir mkfifo touch bash sleep grep cat; do /bin/ln -s /bin/$name $name; done "
        "2>/dev/null\n" +
        std::string(until) + script);
    BOOST_TEST(without.exit_code == 7, without.err);
    BOOST_TEST(without.out.find("neither gdb nor eu-stack is installed") != std::string::npos, without.out);
}

BOOST_AUTO_TEST_CASE(the_first_task_of_a_node_samples_its_metrics_if_the_run_is_profiled) {
    be_the_first_task_of_a_run();
    std::string const script = "mkdir -p runs/0; \"$WRAP\" --node true && ls runs/0";
    auto const plain = shell(script);
    BOOST_TEST(plain.exit_code == 0, plain.err);
    BOOST_TEST(plain.out == "node-0.log\n", plain.out);
    environment.set("DET_PROFILING", "1");
    auto const profiled = shell(script);
    BOOST_TEST(profiled.err == "");
    BOOST_TEST(profiled.out == "node-0.log\nnode-0.metrics\n", profiled.out);
    auto const contents = must(journal::load_journal(RunLayout(directory / "runs/0").node_metrics(0)));
    BOOST_REQUIRE(!contents.records.empty());
    auto const& report = std::get<MetricsReported>(contents.records.front());
    BOOST_TEST(report.group == "memory");
    BOOST_TEST(report.metrics->at("memory_free").get<double>() > 0);
}

BOOST_AUTO_TEST_CASE(the_first_task_of_a_node_writes_how_long_the_ranks_wait_and_shows_that_they_go_on) {
    be_the_first_task_of_a_run();
    environment.set("DET_SHOWS_ACTIVITY", "1");
    // The command copies a page with waits to where ranks make theirs.
    constexpr char script[] = R"sh(
        mkdir -p runs/0
        "$WRAP" --node bash -c '
            cp "$0/page" "$DET_RUN_DIR/waits"
            until grep -q 0 "$0/runs/0/node-0.pulse" 2>/dev/null; do sleep 0.01; done
            cat "$0/runs/0/node-0.pulse"' "$DIR")sh";
    {
        auto page = must(liveness::WaitPage::open_for_writing(directory / "page", 0));
        liveness::WaitRecorder recorder(std::move(page), 0, 5);
        recorder.begin_operation(liveness::WaitOperation::allreduce);
        recorder.add(liveness::WaitOperation::allreduce, 7, std::chrono::milliseconds(500));
        recorder.end_wait();
    }
    auto const output = shell(script);
    BOOST_TEST(output.err == "");
    BOOST_TEST(output.out == "00000000000000000002\n", output.out);
    auto const waits = must(telemetry::load_waits(RunLayout(directory / "runs/0"), 1, {}));
    BOOST_REQUIRE(waits.contains(5));
    BOOST_TEST(waits.at(5).seconds_for.at(7) == 0.5);
    BOOST_TEST(waits.at(5).seconds_in.at("allreduce") == 0.5);
    BOOST_TEST(!path_exists(directory / "runs/0/node-0.pulse"));
}

BOOST_AUTO_TEST_CASE(the_command_does_not_outlive_a_wrapper_that_is_killed) {
    auto const output = shell(until + std::string(R"sh(
        "$WRAP" 0 bash -c 'echo $$ >new; mv new pid; exec sleep 60' &
        until_there pid
        kill -KILL $!
        wait $!
        code=$?
        while kill -0 "$(cat pid)" 2>/dev/null && ! grep -q '^State:.*Z' "/proc/$(cat pid)/status"; do sleep 0.01; done
        exit $code)sh"));
    BOOST_TEST(output.exit_code == 128 + SIGKILL, output.err);
}

BOOST_AUTO_TEST_CASE(in_a_run_term_is_a_notice_that_the_command_does_not_see) {
    be_in_a_run();
    auto const output = shell(until + std::string(R"sh(
        "$WRAP" 0 bash -c 'trap "exit 3" TERM; touch ready; while ! [ -e stop ]; do sleep 0.01; done; exit 4' &
        wrapper=$!
        until_there ready
        setsid bash -c "kill -TERM $wrapper; exec sleep 0" &  # as slurmstepd: nobody who started it
        wait $!
        while ! od -An -tx8 -j16 -N8 preempt | grep -q '[1-9a-f]'; do sleep 0.01; done
        touch stop
        wait $wrapper)sh"));
    BOOST_TEST(output.exit_code == 4, output.err);
    BOOST_TEST(notice_came());
}

BOOST_AUTO_TEST_CASE(read_ahead_does_not_affect_the_command) {
    be_in_a_run();
    environment.set("DET_READ_AHEAD", directory / "checkpoint");  // not there: nothing fails
    auto const output = shell("\"$WRAP\" 0 bash -c 'echo \"${DET_READ_AHEAD-nothing}\"'");
    BOOST_TEST(output.out == "[rank=0] nothing\n");
    BOOST_TEST(output.exit_code == 0, output.err);
}

BOOST_AUTO_TEST_CASE(a_launchers_term_ends_its_rank_also_if_the_rank_ignores_it) {
    be_in_a_run();
    for (std::string const ignores : {"", "trap \"\" TERM;"}) {
        auto const output = shell(until + fmt::format(R"sh(rm -f ready
            "$WRAP" 0 bash -c '{} touch ready; while :; do sleep 0.01; done' &
            until_there ready
            kill -TERM $!
            wait $!)sh",
                                                      ignores));
        BOOST_TEST(output.exit_code == 128 + (ignores.empty() ? SIGTERM : SIGKILL), output.err);
        BOOST_TEST(!notice_came());
    }
}

BOOST_AUTO_TEST_CASE(a_command_of_a_run_starts_with_no_signal_blocked_whatever_its_launcher_blocks) {
    be_in_a_run();
    environment.set("DET_FORWARD_SIGNALS", "USR1");
    auto const output = shell(R"sh(
        python3 -c '
import os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP])
os.execvp(os.environ["WRAP"], ["det-wrap-rank", "0", "grep", "SigBlk", "/proc/self/status"])')sh");
    BOOST_TEST(output.out == "[rank=0] SigBlk:\t0000000000000000\n", output.out + output.err);
}

BOOST_AUTO_TEST_CASE(a_request_to_stop_raises_the_notice_and_sends_the_program_no_signal) {
    be_the_first_task_of_a_run();
    auto const output = shell(until + std::string(R"sh(
        mkdir -p runs/0; mkfifo requests
        "$WRAP" --node bash -c 'cat; echo "$DET_RUN_DIR" >"$0/run_dir.new"; mv "$0/run_dir.new" "$0/run_dir"
            until [ -e "$0/stop" ]; do sleep 0.01; done; exit 4' "$DIR" <requests &
        wrapper=$!
        exec 3>requests
        printf 'not a request\nst' >&3
        printf 'op\n' >&3
        until_there run_dir  # cat has ended: the standard input of the command is empty
        until od -An -tx8 -j16 -N8 "$(cat run_dir)/preempt" | grep -q '[1-9a-f]'; do sleep 0.01; done
        touch stop
        wait $wrapper)sh"));
    BOOST_TEST(output.exit_code == 4, output.err);
}

BOOST_AUTO_TEST_CASE(a_heartbeat_finds_a_request_that_standard_input_has_not_brought) {
    be_the_first_task_of_a_run();
    environment.set("DET_SILENCE_S", "4");  // a check every half second
    auto const output = shell(until + std::string(R"sh(
        mkdir -p runs/0
        "$WRAP" --node bash -c 'touch "$0/runs/0/asked"
            until od -An -tx8 -j16 -N8 "$DET_RUN_DIR/preempt" | grep -q "[1-9a-f]"; do sleep 0.01; done
            exit 4' "$DIR" </dev/null)sh"));
    BOOST_TEST(output.exit_code == 4, output.err);
}

// A heartbeat that opens a fifo does not return, as on a shared file system that does not answer.
BOOST_AUTO_TEST_CASE(a_notice_and_a_request_are_handled_while_a_heartbeat_does_not_return) {
    be_the_first_task_of_a_run();
    environment.set("DET_SILENCE_S", "4");  // a check every half second
    for (std::string const notice : {"kill -TERM $wrapper", "echo stop >&3"}) {
        auto const output = shell(until + std::string(R"sh(
            rm -rf runs requests; mkdir -p runs/0; mkfifo requests runs/0/node-0.pulse
            "$WRAP" --node bash -c 'trap "" TERM
                touch "$0/runs/0/begun"
                until od -An -tx8 -j16 -N8 "$DET_RUN_DIR/preempt" | grep -q "[1-9a-f]"; do sleep 0.01; done
                touch "$0/runs/0/told"; exit 4' "$DIR" <requests &
            wrapper=$!
            exec 3>requests
            until_there runs/0/begun
            )sh") + notice + R"sh(
            until_there runs/0/told
            exec 4<>runs/0/node-0.pulse  # from here on heartbeats return
            wait $wrapper)sh");
        BOOST_TEST(output.exit_code == 4, notice << ": " << output.err);
    }
}

BOOST_AUTO_TEST_CASE(a_wrapper_ends_though_a_heartbeat_does_not_return) {
    be_the_first_task_of_a_run();
    environment.set("DET_SILENCE_S", "4");
    environment.set("DET_STORAGE_TIMEOUT_S", "5");
    auto const output = shell(R"sh(
        mkdir -p runs/0; mkfifo runs/0/node-0.pulse
        "$WRAP" --node bash -c 'exit 4')sh");
    BOOST_TEST(output.exit_code == 4, output.err);
    BOOST_TEST(output.err.find("the shared file system has not answered for 5 s: ") != std::string::npos,
               output.err);
}

// Under proctrack/linuxproc Slurm's TERM reaches every process of a step.
BOOST_AUTO_TEST_CASE(a_program_that_saves_is_awaited_though_the_notice_has_ended_the_shell_in_front_of_it) {
    be_the_first_task_of_a_run();
    for (int const code : {0, 6}) {
        auto const output = shell(until + fmt::format(R"sh(rm -rf runs ready saved; mkdir -p runs/0
            "$WRAP" --node dash -c 'python3 "$0/saves.py" {}; exit 9' "$DIR" </dev/null &
            wrapper=$!
            until_there ready
            kill -TERM $wrapper $(cat ready)
            wait $wrapper
            code=$?
            until_there saved
            exit $code)sh",
                                                      code));
        BOOST_TEST(output.exit_code == code, output.err);
    }
}

BOOST_AUTO_TEST_CASE(a_program_that_the_notice_ends_is_not_awaited) {
    be_the_first_task_of_a_run();
    auto const output = shell(until + std::string(R"sh(mkdir -p runs/0
        "$WRAP" --node bash -c 'echo $$ >"$0/ready.new"; mv "$0/ready.new" "$0/ready"; sleep 60; true' "$DIR" </dev/null &
        wrapper=$!
        until_there ready
        kill -TERM $wrapper $(cat ready) $(cat "/proc/$(cat ready)/task/$(cat ready)/children")
        wait $wrapper)sh"));
    BOOST_TEST(output.exit_code == 128 + SIGTERM, output.err);
}

BOOST_AUTO_TEST_CASE(a_failed_rank_is_recorded) {
    be_in_a_run();
    BOOST_TEST(shell("\"$WRAP\" 3 bash -c 'echo trying; echo no luck >&2; exit 5'").exit_code == 5);
    BOOST_TEST(shell("\"$WRAP\" 4 bash -c 'kill -SEGV $$'").exit_code == 128 + SIGSEGV);
    BOOST_TEST(shell("\"$WRAP\" 5 true").exit_code == 0);
    auto const ends = parse_rank_failures(must(read_file(directory / "node-0.ends")));
    BOOST_REQUIRE(ends.size() == 2u);
    BOOST_TEST(ends[0].rank.value() == 3u);
    BOOST_TEST(ends[0].host == "n1");
    BOOST_TEST(ends[0].exit_code == 5);
    BOOST_TEST(ends[0].last_output == "trying\nno luck\n");
    BOOST_TEST(ends[1].signal == SIGSEGV);
    BOOST_TEST(first_to_fail(ends).value().rank.value() == 3u);
}

BOOST_AUTO_TEST_CASE(a_wrapper_whose_slurmstepd_is_killed_records_that) {
    be_the_first_task_of_a_run();
    environment.set("DET_SILENCE_S", "4");  // a look at the parent every half second
    auto const output = shell(until + std::string(R"sh(mkdir -p runs/0
        bash -c '"$WRAP" --node bash -c "echo >begun; exec sleep 60" </dev/null & wait' &
        until_there "$(echo runs/0/node-0.pulse)"
        until grep -q sleep "/proc/$(pgrep --parent "$(pgrep --parent $!)")/comm"; do sleep 0.01; done
        kill -KILL $!
        until_there runs/0/node-0.ends
        while [ -e runs/0/node-0.pulse ]; do sleep 0.01; done)sh"));
    BOOST_TEST(output.exit_code == 0, output.err);
    auto const ends = parse_rank_failures(must(read_file(directory / "runs/0/node-0.ends")));
    BOOST_REQUIRE(ends.size() == 1u);
    BOOST_TEST(ends[0].signal == SIGKILL);
    BOOST_TEST(ends[0].is_slurmstepd_gone);
}

BOOST_AUTO_TEST_CASE(the_exit_code_of_a_rank_that_lost_another_is_not_the_first_failure) {
    be_in_a_run();
    environment.set("LOSE", "echo gone >\"$DET_RUN_DIR/$DET_LOST_PEER_FILE\"; exit 5");
    // Rank 0 loses rank 2, and its end is recorded first or last.
    constexpr char lost_first[] =
        R"sh("$WRAP" 0 bash -c "$LOSE" & until_there node-0.ends; "$WRAP" 2 bash -c 'exit 7'; wait $!)sh";
    constexpr char lost_last[] = R"sh("$WRAP" 2 bash -c 'exit 7'; "$WRAP" 0 bash -c "$LOSE")sh";
    for (std::string const script : {lost_first, lost_last}) {
        auto const output = shell("rm -f node-0.ends first_failure\n" + (until + script));
        BOOST_TEST(output.exit_code == 5, output.err);
        auto const ends = parse_rank_failures(must(read_file(directory / "node-0.ends")));
        BOOST_REQUIRE(ends.size() == 2u);
        auto const& lost = ends[script == lost_first ? 0 : 1];
        BOOST_TEST(lost.rank.value() == 0u);
        BOOST_TEST(lost.lost_peer == "gone");
        BOOST_TEST(first_to_fail(ends).value().rank.value() == 2u);
        BOOST_TEST(must(read_file(directory / "first_failure")) == "7\n");
    }
}

BOOST_AUTO_TEST_CASE(a_rank_that_lost_another_ends_though_no_other_failure_is_recorded) {
    be_in_a_run();
    BOOST_TEST(
        shell("\"$WRAP\" 0 bash -c 'echo gone >\"$DET_RUN_DIR/$DET_LOST_PEER_FILE\"; exit 5'").exit_code ==
        5);
    BOOST_TEST(!path_exists(directory / "first_failure"));
}

BOOST_AUTO_TEST_CASE(a_rank_that_lost_another_waits_for_a_process_that_ends_late_unless_a_node_was_killed) {
    be_in_a_run();
    auto const lose_another = [&] {
        auto const begin = std::chrono::steady_clock::now();
        auto const lost =
            shell("\"$WRAP\" 0 bash -c 'echo gone >\"$DET_RUN_DIR/$DET_LOST_PEER_FILE\"; exit 5'");
        BOOST_TEST(lost.exit_code == 5);
        return std::chrono::steady_clock::now() - begin;
    };
    BOOST_TEST((lose_another() >= std::chrono::seconds(2)));
    must(write_file(directory / "killed-node", ""));
    BOOST_TEST((lose_another() < std::chrono::seconds(2)));
}

BOOST_AUTO_TEST_CASE(a_log_that_cannot_be_written_does_not_stop_a_command) {
    for (auto const* log : {"/dev/full", "/no/such/directory/log", "."}) {
        environment.set("DET_RANK_LOG", log);
        auto const output = shell("\"$WRAP\" 2 bash -c 'echo one; sleep 0.01; echo two; exit 6'");
        BOOST_TEST(output.exit_code == 6);
        BOOST_TEST(output.out == "[rank=2] one\n[rank=2] two\n");
        auto const lines = split_lines(output.err);
        BOOST_REQUIRE(lines.size() == 2u);
        BOOST_TEST(lines[0].starts_with("[rank=2] det-wrap-rank: warning: cannot "), lines[0]);
        BOOST_TEST(lines[1].starts_with("[rank=2]   hint: "), lines[1]);
    }
}

BOOST_AUTO_TEST_CASE(a_removed_log_directory_is_reported_and_the_command_continues) {
    must(make_directory(directory / "run"));
    environment.set("DET_RANK_LOG", (directory / "run/node-0.log").string());
    auto const output = shell("\"$WRAP\" 2 bash -c 'echo one; rm -r run; echo two'");
    BOOST_TEST(output.exit_code == 0);
    BOOST_TEST(output.out == "[rank=2] one\n[rank=2] two\n");
    BOOST_TEST(output.err.find("was removed") != std::string::npos, output.err);
}

BOOST_AUTO_TEST_CASE(ranks_that_share_a_pipe_do_not_mix_lines) {
    auto const output = shell(R"sh(
        print() { python3 -c "
import sys
for i in range(400): sys.stdout.write('$1' * 8000 + '\n')"; }
        export -f print
        for letter in a b c; do "$WRAP" 0 bash -c "print $letter" & done | { sleep 0.2; cat; })sh");
    auto const lines = split_lines(output.out);
    BOOST_TEST(lines.size() == 1200u);
    std::size_t torn = 0;
    for (auto const line : lines) {
        auto const text = line.substr(std::min<std::size_t>(line.size(), 9));
        bool const whole = line.starts_with("[rank=0] ") && text.size() == 8000u &&
                           text.find_first_not_of(text[0]) == std::string_view::npos;
        if (!whole) ++torn;
    }
    BOOST_TEST(torn == 0u);
}

BOOST_AUTO_TEST_CASE(memory_is_bounded_however_long_a_line_is) {
#if defined(__SANITIZE_THREAD__)  // which has memory of its own
    constexpr int limit_kib = 64 << 10;
#elif defined(__SANITIZE_ADDRESS__)  // which keeps 256 MiB of freed memory
    constexpr int limit_kib = 384 << 10;
#else
    constexpr int limit_kib = 32 << 10;
#endif
    environment.set("DET_RANK_LOG", (directory / "log").string());
    auto const output = shell(R"sh(
        "$WRAP" 0 bash -c 'head -c 100000000 /dev/zero; head -c 300000 /dev/zero | tr "\0" "\n"
          head -c 3000000 /dev/zero | tr "\0" "\r"; grep VmHWM /proc/$PPID/status >&2' >/dev/null)sh");
    auto const fields = split(trim(output.err), ' ');
    BOOST_REQUIRE(fields.size() > 2);
    BOOST_TEST(parse_integer<int>(fields[fields.size() - 2]).value() < limit_kib, output.err);
}

BOOST_AUTO_TEST_CASE(every_byte_is_forwarded) {
    auto const output = shell(R"sh(
        python3 -c "
import os
open('binary', 'wb').write(os.urandom(1 << 20))
open('bytes', 'wb').write(os.urandom(1 << 20).replace(b'\r', b'.').replace(b'\0', b'.'))"
        "$WRAP" 0 cat binary | cmp - binary || exit 2
        "$WRAP" 0 cat bytes >labelled
        python3 -c "
import re, sys
want = []
for line in open('bytes', 'rb').read().split(b'\n'): want += [line[i:i+8191] for i in range(0, len(line), 8191)] or [line]
if not want[-1]: want.pop()
sys.exit(b''.join(b'[rank=0] ' + line + b'\n' for line in want) != open('labelled', 'rb').read())")sh");
    BOOST_TEST(output.exit_code == 0, output.err);
}

BOOST_AUTO_TEST_SUITE_END()
