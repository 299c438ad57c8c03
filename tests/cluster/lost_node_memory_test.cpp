// A trial whose node is lost continues on a spare node from what the partners of the lost ranks have in
// memory.
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <csignal>
#include <fmt/format.h>
#include <fstream>

#include "check_result.hpp"
#include "digits_cluster.hpp"
#include "test_paths.hpp"

using namespace det;
using namespace std::chrono_literals;
using std::chrono::steady_clock;

namespace lost_node_memory {

namespace fs = std::filesystem;

/// Three nodes with two ranks each, and a spare one.
struct Site : DigitsCluster {
    Site() : DigitsCluster(options()) {}
    static LoopbackOptions options() {
        LoopbackOptions options;
        options.nodes = 4;
        options.slots = 2;
        options.slurm_options = {"SlurmdTimeout=600"};
        return options;
    }
    int train(std::string const& program, std::string const& arguments = {}) const {
        return create(
            "--config resources.slots_per_trial=6 --config slurm.spare_nodes=1 --config slurm.mpi=none "
            "--config slurm.bad_node_memory=0 --config slurm.node_timeout=4 "
            "--config 'slurm.memory_checkpoints={every: 10}' " +
            program + arguments);
    }
    std::string log_of(int id, int run) const {
        return shell(fmt::format("det-submit trial logs {} --run {} 2>/dev/null || true", id, run));
    }
    std::string last_state(int id, int run) const {
        auto const log = log_of(id, run);
        auto const at = log.find("the state is ");
        BOOST_REQUIRE_MESSAGE(at != std::string::npos, log);
        return log.substr(at, log.find('\n', at) - at);
    }

    /// The processes of jobs on a node, as this process sees them, with Slurm's own ones for their steps.
    std::vector<pid_t> processes_on(std::string const& node) const {
        std::vector<pid_t> found;
        for (auto const& entry : must(list_directory("/proc"))) {
            auto const pid = parse_integer<pid_t>(entry);
            if (!pid) continue;
            std::ifstream environ(fs::path("/proc") / entry / "environ");
            std::string variables;
            std::getline(environ, variables, '\x01');
            bool const is_ours = variables.find(LoopbackCluster::state().string()) != std::string::npos;
            if (is_ours && variables.find("SLURMD_NODENAME=" + node) != std::string::npos)
                found.push_back(*pid);
        }
        return found;
    }
    /// Waits until the memory of a node has these files.
    void wait_for_kept(std::string const& node, std::vector<std::string> const& names) const {
        auto const process = processes_on(node).at(0);
        auto const shm = fs::path("/proc") / std::to_string(process) / "root/dev/shm";
        wait_until(
            [&] {
                std::size_t found = 0;
                for (auto const& directory : list_directory(shm).value_or(std::vector<std::string>())) {
                    for (auto const& name : names) {
                        bool const is_of_job = directory.starts_with("det-memory-");
                        found += is_of_job && path_exists(shm / directory / name) ? 1 : 0;
                    }
                }
                return found == names.size();
            },
            60s, "the partners have the state");
    }

    /// Kills all processes on n1. Its memory would be lost too: removes what it has.
    void kill_node_and_its_memory() const {
        auto const processes = processes_on("n1");
        auto const shm = fs::path("/proc") / std::to_string(processes.at(0)) / "root/dev/shm";
        for (auto const& name : must(list_directory(shm))) {
            if (name.starts_with("det-memory-")) must(remove_tree(shm / name));
        }
        for (auto const pid : processes) ::kill(pid, SIGKILL);
    }

    /// The processes on a node whose command line has this word.
    std::vector<pid_t> processes_on(std::string const& node, std::string const& word) const {
        auto found = processes_on(node);
        std::erase_if(found, [&](pid_t pid) {
            auto const line = read_file(fmt::format("/proc/{}/cmdline", pid));
            return !line || line->find(word) == std::string::npos;
        });
        return found;
    }
    /// Waits until an interpreter on the node listens, which has imported torch or does so now, and returns
    /// it.
    pid_t wait_for_interpreter(std::string const& node, pid_t other_than = 0) const {
        pid_t found = 0;
        wait_until(
            [&] {
                auto const waiting = processes_on(node, "warm_interpreter.py");
                if (waiting.size() != 1 || waiting.front() == other_than) return false;
                found = waiting.front();
                // The keeper's own socket is another one.
                auto const sockets = read_file(fmt::format("/proc/{}/net/unix", found)).value_or("");
                for (auto const line : split_lines(sockets)) {
                    bool const is_of_node = line.find("-" + node + "-") != std::string_view::npos;
                    if (line.find("@det-warm-") != std::string_view::npos && is_of_node &&
                        !line.ends_with("-keeper"))
                        return true;
                }
                return false;
            },
            120s, "an interpreter waits on " + node);
        return found;
    }

    /// Waits until the run that goes on has made that many more steps, and has kept states in some of them.
    void wait_for_more_steps(int id, std::size_t count) const {
        auto const steps = [&] { return ask(fmt::format("trial metrics {} --group training", id)).size(); };
        auto const before = steps();
        wait_until([&] { return steps() >= before + count; }, 120s, "more steps");
    }
    /// Kills all processes on a node, Slurm's own ones for its steps too.
    void kill_processes_on(std::string const& node) const {
        for (auto const pid : processes_on(node)) ::kill(pid, SIGKILL);
    }

    /// Trains until the ranks of n1 have made 37 steps, breaks that node, and waits for the end. A checkpoint
    /// was made at step 5 only, and the state kept at steps 10, 20 and 30.
    void check_continues(std::string const& program, std::string const& expected_state,
                         std::function<void()> const& break_n1, std::string const& second_hosts) const {
        auto const id =
            train(program,
                  "--config 'environment.environment_variables=[WAIT_AT=37, WAIT_ON_NODE=n1, PAUSE_MS=50]'");
        wait_until([&] { return log_of(id, 0).find("waits to be killed") != std::string::npos; }, 120s,
                   "37 steps");
        wait_for_kept("n2", {"0.30.2of6", "0.30.3of6", "0.30.4of6", "0.30.5of6"});
        wait_for_kept("n0", {"0.30.0of6", "0.30.1of6", "0.30.4of6", "0.30.5of6"});
        auto const broken_at = steady_clock::now();
        break_n1();
        wait_until([&] { return log_of(id, 1).find("continues at step") != std::string::npos; }, 120s,
                   "the second run");
        BOOST_TEST_MESSAGE("continues " << (steady_clock::now() - broken_at) / 1ms << " ms after the fault");
        finish(id);
        auto const runs = trial(id).at("runs");
        BOOST_REQUIRE_MESSAGE(runs.size() == 2u, runs.dump(2));
        BOOST_TEST(runs.at(0).at("hosts") == "n[0-2]");
        BOOST_TEST(runs.at(0).at("follow") == "restart-in-place");
        BOOST_TEST(runs.at(1).at("hosts") == second_hosts);
        BOOST_TEST(runs.at(1).at("restart_count") == 0);  // Slurm has not queued the job again
        BOOST_TEST(runs.at(1).at("job") == runs.at(0).at("job"));
        auto const second = log_of(id, 1);
        BOOST_TEST(second.find("continues at step 30 from memory") != std::string::npos, second);
        BOOST_TEST(last_state(id, 1) == expected_state);
        // Each step is reported once: those up to 30 by the first run, the others by the second.
        std::vector<std::uint64_t> steps;
        for (auto const& report : ask(fmt::format("trial metrics {} --group training", id)))
            steps.push_back(report.at("steps_completed").get<std::uint64_t>());
        BOOST_REQUIRE(steps.size() == 60u);
        for (std::size_t i = 0; i < steps.size(); ++i) BOOST_TEST(steps[i] == i + 1);
    }
};

constexpr char cpp_program[] = "--config slurm.launch=rank --config 'entrypoint=" DET_KEPT_IN_MEMORY " 60' ";
constexpr char ddp_program[] =
    "--config 'entrypoint=python3 -m determined.launch.torch_distributed python3 kept_in_memory.py' ";

}  // namespace lost_node_memory

BOOST_FIXTURE_TEST_SUITE(lost_node_memory, Site)

BOOST_AUTO_TEST_CASE(a_trial_continues_from_the_memory_of_other_nodes_when_a_node_is_lost) {
    auto const undisturbed = train(cpp_program);
    finish(undisturbed);
    auto const expected = last_state(undisturbed, 0);
    check_continues(
        cpp_program, expected, [&] { kill_node_and_its_memory(); }, "n[0-2]");
    // Its network is cut: its processes go on for a while.
    check_continues(
        cpp_program, expected,
        [&] {
            command({"node", "cut", "n1"});
        },
        "n[0,2-3]");
    command({"node", "heal", "n1"});
}

BOOST_AUTO_TEST_CASE(a_trial_continues_from_the_memory_of_other_nodes_when_a_node_has_no_power) {
    auto const undisturbed = train(cpp_program);
    finish(undisturbed);
    check_continues(
        cpp_program, last_state(undisturbed, 0),
        [&] {
            command({"node", "off", "n1"});
        },
        "n[0,2-3]");
}

BOOST_AUTO_TEST_CASE(a_ddp_training_in_python_continues_from_the_memory_of_other_nodes) {
    if (shell("python3 -c 'import torch' && echo found || true") != "found") {
        BOOST_TEST_MESSAGE("skipped: there is no torch");
        return;
    }
    auto const text = must(read_file(det::test::source_path("tests/cluster/programs/kept_in_memory.py")));
    must(write_file(home() / "code/kept_in_memory.py", text, 0644));
    auto const undisturbed = train(ddp_program);
    finish(undisturbed);
    auto const expected = last_state(undisturbed, 0);
    check_continues(
        ddp_program, expected, [&] { kill_node_and_its_memory(); }, "n[0-2]");
    check_continues(
        ddp_program, expected,
        [&] {
            command({"node", "off", "n1"});
        },
        "n[0,2-3]");
}

BOOST_AUTO_TEST_CASE(a_pytorch_trial_continues_from_the_memory_of_other_nodes) {
    if (shell("python3 -c 'import torch' && echo found || true") != "found") {
        BOOST_TEST_MESSAGE("skipped: there is no torch");
        return;
    }
    auto const text = must(read_file(det::test::source_path("tests/cluster/programs/kept_trial.py")));
    must(write_file(home() / "code/kept_trial.py", text, 0644));
    constexpr char program[] =
        "--config entrypoint=kept_trial:KeptTrial --config hyperparameters.global_batch_size=48 "
        "--config 'searcher.max_length={batches: 60}' --config scheduling_unit=1 ";
    auto const undisturbed = train(program);
    finish(undisturbed);
    check_continues(
        program, last_state(undisturbed, 0), [&] { kill_node_and_its_memory(); }, "n[0-2]");
}

BOOST_AUTO_TEST_CASE(a_run_that_follows_starts_in_an_interpreter_that_has_imported_torch) {
    if (shell("python3 -c 'import torch' && echo found || true") != "found") {
        BOOST_TEST_MESSAGE("skipped: there is no torch");
        return;
    }
    for (std::string const name : {"kept_in_memory.py", "warm_started.py"}) {
        auto const text = must(read_file(det::test::source_path("tests/cluster/programs/" + name)));
        must(write_file(home() / "code" / name, text, 0644));
    }
    constexpr char program[] =
        "--config slurm.warm_start=true --config 'entrypoint=python3 -m determined.launch.torch_distributed "
        "python3 warm_started.py' ";
    auto const undisturbed = train(ddp_program);
    finish(undisturbed);
    check_continues(
        program, last_state(undisturbed, 0),
        [&] {
            for (auto const* node : {"n1", "n2"}) wait_for_interpreter(node);
            wait_for_interpreter("n3");  // the spare one, on which no rank has started
            auto const killed = wait_for_interpreter("n0");
            ::kill(killed, SIGKILL);
            wait_for_interpreter("n0", killed);
            command({"node", "off", "n1"});
        },
        "n[0,2-3]");
    auto const id = undisturbed + 1;
    auto const count = [&](int run, std::string_view line) {
        auto const log = log_of(id, run);
        return std::ranges::count_if(split_lines(log), [&](auto each) { return each.ends_with(line); });
    };
    BOOST_TEST(count(0, "torch was there: False") == 6);
    BOOST_TEST(count(1, "torch was there: True") == 6, log_of(id, 1));
    // Nothing stays when the job has ended.
    for (auto const* node : {"n0", "n2", "n3"})
        wait_until([&] { return processes_on(node, "warm_interpreter.py").empty(); }, 60s,
                   "the interpreters have ended");
    wait_until([&] { return !path_exists(directory(id) / "trials/0/warm-start"); }, 60s,
               "what the ranks have asked for is removed");
}

BOOST_AUTO_TEST_CASE(a_run_moves_to_the_node_where_an_interpreter_waits_and_so_does_the_one_after_it) {
    if (shell("python3 -c 'import torch' && echo found || true") != "found") {
        BOOST_TEST_MESSAGE("skipped: there is no torch");
        return;
    }
    for (std::string const name : {"kept_in_memory.py", "warm_started.py"}) {
        auto const text = must(read_file(det::test::source_path("tests/cluster/programs/" + name)));
        must(write_file(home() / "code" / name, text, 0644));
    }
    auto const id = train(
        "--config max_restarts=5 --config slurm.warm_start=true --config 'entrypoint=python3 -m "
        "determined.launch.torch_distributed python3 warm_started.py' "
        "--config 'environment.environment_variables=[STEPS=1000000, PAUSE_MS=50]' ");
    for (auto const* node : {"n0", "n1", "n2", "n3"}) wait_for_interpreter(node);
    struct Fault {
        std::string node, hosts_after;
    };
    int run = 0;
    for (auto const& [node, hosts_after] : {Fault{"n1", "n[0,2-3]"}, Fault{"n2", "n[0-1,3]"}}) {
        wait_for_more_steps(id, 40);
        kill_processes_on(node);
        ++run;
        wait_until([&] { return log_of(id, run).find("continues at step") != std::string::npos; }, 120s,
                   "the next run");
        auto const log = log_of(id, run);
        BOOST_TEST(log.find(" from memory") != std::string::npos, log);
        BOOST_TEST(std::ranges::count_if(split_lines(log), [](auto line) {
                       return line.ends_with("torch was there: True");
                   }) == 6);
        auto const runs = trial(id).at("runs");
        BOOST_TEST(runs.at(static_cast<std::size_t>(run)).at("hosts") == hosts_after);
        wait_for_interpreter(node);  // the run has started a keeper there again
    }
    shell(fmt::format("det-submit experiment kill {}", id));
    wait_for_state(id, "CANCELED");
    for (auto const* node : {"n0", "n1", "n2", "n3"})
        wait_until([&] { return processes_on(node).empty(); }, 60s, "all processes have ended");
}

BOOST_AUTO_TEST_SUITE_END()
