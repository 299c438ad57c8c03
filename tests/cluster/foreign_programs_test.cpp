// Programs that know nothing of det-submit are preempted: none ends early, none is queued twice, none loses
// its checkpoint.
#include <det/foundation/clock.hpp>
#include <det/foundation/files.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "check_result.hpp"
#include "loopback_cluster.hpp"
#include "test_paths.hpp"

using namespace det;
using namespace std::chrono_literals;

namespace foreign_programs {

namespace fs = std::filesystem;

constexpr int steps = 80;

LoopbackOptions options_with(std::string const& proctrack) {
    LoopbackOptions options;
    options.slots = 2;
    options.grace_s = 15;
    options.proctrack = proctrack;
    return options;
}

/// A cluster with the programs of tests/cluster/programs in the code directory.
struct Site : LoopbackCluster {
    explicit Site(std::string const& proctrack) : LoopbackCluster(options_with(proctrack)) {
        shell("mkdir code saved");
        for (auto const* name : {"save_on_term.py", "requeue_in_handler.py", "exit_on_term.py"}) {
            auto const source = det::test::source_path(fmt::format("tests/cluster/programs/{}", name));
            fs::copy_file(source, home() / name);
            fs::permissions(home() / name, fs::perms(0644));
            shell(fmt::format("cp {0} code/{0}", name));
        }
    }
    nlohmann::json ask(std::string const& command) const {
        return nlohmann::json::parse(shell("det-submit " + command + " --json"));
    }
    /// Creates an experiment; {0} in the entrypoint is a file on shared storage, {1} the number of steps.
    int create(std::string const& entrypoint, std::string const& slurm, int slots) const {
        auto const saved = home() / "saved" / fmt::format("state-{}", ++created_);
        must(write_file(
            home() / "foreign.yaml",
            fmt::format("name: foreign\nentrypoint: {}\n"
                        "searcher: {{name: single, metric: x, max_length: 1}}\n"
                        "resources: {{slots_per_trial: {}}}\nmax_restarts: 0\nslurm: {{{}}}\n",
                        fmt::format(fmt::runtime(entrypoint), saved.string(), steps), slots, slurm),
            0644));
        return ask("experiment create foreign.yaml code")["id"].get<int>();
    }
    std::string log(int experiment) const {
        return shell(fmt::format("det-submit trial logs {} || true", experiment));
    }
    nlohmann::json describe(int experiment) const {
        return ask(fmt::format("experiment describe {}", experiment));
    }
    nlohmann::json runs(int experiment) const { return describe(experiment)["trials"][0]["runs"]; }

    /// Preempts the experiment while it trains, waits for its end, and checks that it has run exactly twice.
    void preempt_and_finish(int experiment, int at_step = 10) const {
        auto const line = fmt::format("step {}\n", at_step);
        wait_until([&] { return (log(experiment) + "\n").find(line) != std::string::npos; }, 90s, "it trains");
        shell("srun --partition urgent --nodes 2 true", 120s);
        wait_until([&] { return describe(experiment)["state"] == "COMPLETED"; }, 150s,
                   fmt::format("experiment {} is completed", experiment));
        auto const all = runs(experiment);
        BOOST_REQUIRE_MESSAGE(all.size() == 2u, all.dump(2));
        BOOST_TEST(all[0]["cause"] == "preempted", all.dump(2));
        BOOST_TEST(all[1]["cause"] == "finished", all.dump(2));
        BOOST_TEST(all[1]["restart_count"] == 1, all.dump(2));
    }
    /// The seconds between the end of the first run and the start of the second one.
    std::int64_t seconds_in_queue(int experiment) const {
        auto const all = runs(experiment);
        auto const at = [](nlohmann::json const& time) {
            return parse_utc(time.get<std::string>()).value().microseconds;
        };
        return (at(all[1]["started"]) - at(all[0]["ended"])) / 1'000'000;
    }
    /// Checks that the second run has begun at the step at which the first one has saved.
    void check_resumed(int experiment) const {
        auto const text = log(experiment);
        auto const saved = text.find("saved at step ");
        BOOST_REQUIRE_MESSAGE(saved != std::string::npos, text);
        auto const step = std::stoi(text.substr(saved + 14));
        BOOST_TEST(step >= 10);
        BOOST_TEST(text.find(fmt::format("begins at step {}", step)) != std::string::npos, text);
    }

    mutable int created_ = 0;
};

struct OnlyTasksAreSignalled : Site {
    OnlyTasksAreSignalled() : Site("cgroup") {}
};
struct EveryProcessIsSignalled : Site {
    EveryProcessIsSignalled() : Site("linuxproc") {}
};

void check_torchrun(Site const& site, std::string const& launcher) {
    auto const id =
        site.create(launcher + " save_on_term.py {0} {1}", "slots_per_node: 2, forward_signals: [TERM]", 2);
    site.preempt_and_finish(id);
    site.check_resumed(id);
    BOOST_TEST(site.log(id).find("finished with ") != std::string::npos);
    BOOST_TEST(site.seconds_in_queue(id) < 60);
}

void check_requeue_in_handler(Site const& site, std::string const& signal, std::string const& afterwards) {
    auto const id = site.create(
        // Without a shell in front: Debian's sh clears the signal mask of what it starts.
        fmt::format("[python3, requeue_in_handler.py, {}, {}, '{{0}}', '{{1}}']", signal, afterwards),
        fmt::format("slots_per_node: 2, forward_signals: [{}]", signal), 2);
    site.preempt_and_finish(id);
    site.check_resumed(id);
    auto const text = site.log(id);
    auto const requeued = text.find("scontrol requeue ");
    BOOST_TEST(requeued != std::string::npos, text);
    BOOST_TEST(text.find("scontrol requeue ", requeued + 1) == std::string::npos, text);  // once
    BOOST_TEST(site.seconds_in_queue(id) < 60);
}

}  // namespace foreign_programs

BOOST_AUTO_TEST_SUITE(foreign_programs)

BOOST_FIXTURE_TEST_CASE(if_only_tasks_get_signals, OnlyTasksAreSignalled) {
    BOOST_TEST_CONTEXT("torchrun, started by det-launch")
    check_torchrun(*this, "det-launch torch_distributed /usr/bin/python3");
    BOOST_TEST_CONTEXT("a requeue on USR1") check_requeue_in_handler(*this, "USR1", "goes-on");
    BOOST_TEST_CONTEXT("a requeue on USR2") check_requeue_in_handler(*this, "USR2", "ends");
    BOOST_TEST_CONTEXT("an exit code") {
        // The shell in front of the program lives on and passes the code on.
        auto const id = create("sh -c 'python3 exit_on_term.py 85 {0} {1}; exit $?'",
                               "slots_per_node: 2, forward_signals: [TERM], preempted_exit_codes: [85]", 2);
        preempt_and_finish(id);
        BOOST_TEST(runs(id)[0]["exit_code"] == 85);
    }
    BOOST_TEST_CONTEXT("a program that ignores TERM") {
        // proctrack/cgroup of Slurm 22.05 may not deliver a signal in the first seconds of a step.
        auto const id = create("python3 exit_on_term.py ignore {0} 400", "slots_per_node: 2", 2);
        preempt_and_finish(id, 40);
        BOOST_TEST(runs(id)[0]["message"].get<std::string>().find("did not stop in time") !=
                   std::string::npos);
        BOOST_TEST(seconds_in_queue(id) < 60);
        BOOST_TEST(log(id).find("begins at step 0") != log(id).rfind("begins at step "));
    }
}

BOOST_FIXTURE_TEST_CASE(if_every_process_gets_signals, EveryProcessIsSignalled) {
    BOOST_TEST_CONTEXT("torchrun, started by det-launch")
    check_torchrun(*this, "det-launch torch_distributed /usr/bin/python3");
    BOOST_TEST_CONTEXT("a requeue on USR2") check_requeue_in_handler(*this, "USR2", "ends");
}

BOOST_AUTO_TEST_SUITE_END()
