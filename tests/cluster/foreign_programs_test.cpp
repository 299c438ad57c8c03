// Programs that do not use det-submit's API are preempted: none ends early, none is queued twice, none loses
// its checkpoint. Each has a node of its own, and one job preempts them all.
#include <det/foundation/clock.hpp>
#include <det/foundation/files.hpp>

#include <algorithm>
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

constexpr int nodes = 6;
constexpr char torchrun[] = "det-launch torch_distributed /usr/bin/python3";

LoopbackOptions options_with(std::string const& proctrack) {
    LoopbackOptions options;
    options.nodes = nodes;
    options.slots = 2;
    options.grace_s = 15;
    options.proctrack = proctrack;
    return options;
}

/// How an experiment went.
struct Ended {
    std::string log;
    nlohmann::json runs;
};

/// A cluster with the programs of tests/cluster/programs in the code directory.
struct Site : LoopbackCluster {
    explicit Site(std::string const& proctrack) : LoopbackCluster(options_with(proctrack)) {
        shell("mkdir code saved");
        for (auto const* name :
             {"save_on_term.py", "requeue_in_handler.py", "exit_on_term.py", "snapshot_every_epoch.py"}) {
            auto const source = det::test::source_path(fmt::format("tests/cluster/programs/{}", name));
            fs::copy_file(source, home() / name);
            fs::permissions(home() / name, fs::perms(0644));
            shell(fmt::format("cp {0} code/{0}", name));
        }
    }
    nlohmann::json ask(std::string const& command) const {
        return nlohmann::json::parse(shell("det-submit " + command + " --json"));
    }
    /// Creates an experiment of two slots; {} in the entrypoint is a file on shared storage. `trains` is
    /// a line of its log that shows that it trains.
    void create(std::string const& name, std::string const& entrypoint, std::string const& slurm,
                std::string const& trains = "step 10") {
        auto const saved = (home() / "saved" / name).string();
        must(write_file(
            home() / "foreign.yaml",
            fmt::format("name: {}\nentrypoint: {}\n"
                        "searcher: {{name: single, metric: x, max_length: 1}}\n"
                        "resources: {{slots_per_trial: 2}}\nmax_restarts: 0\n"
                        "slurm: {{slots_per_node: 2{}{}}}\n",
                        name, fmt::format(fmt::runtime(entrypoint), saved), slurm.empty() ? "" : ", ", slurm),
            0644));
        created_.push_back({name, trains, ask("experiment create foreign.yaml code")["id"].get<int>()});
    }
    void create_torchrun(std::string const& name) {
        create(name, std::string(torchrun) + " save_on_term.py {}", "forward_signals: [TERM]");
    }
    void create_requeue(std::string const& name, std::string const& signal, std::string const& afterwards) {
        // Without a shell in front: Debian's sh clears the signal mask of what it starts.
        create(name, fmt::format("[python3, requeue_in_handler.py, {}, {}, '{{}}']", signal, afterwards),
               fmt::format("forward_signals: [{}]", signal));
    }

    std::string log(int experiment) const {
        return shell(fmt::format("det-submit trial logs {} || true", experiment));
    }
    nlohmann::json describe(int experiment) const {
        return ask(fmt::format("experiment describe {}", experiment));
    }

    /// Preempts all experiments while they train, and waits for their ends.
    void preempt_and_finish() const {
        for (auto const& each : created_) {
            auto const line = each.trains + "\n";
            wait_until([&] { return (log(each.id) + "\n").find(line) != std::string::npos; }, 120s,
                       each.name + " trains");
        }
        shell(fmt::format("srun --partition urgent --nodes {} true", nodes), 120s);
        for (auto const& each : created_) {
            wait_until([&] { return describe(each.id)["state"] == "COMPLETED"; }, 150s,
                       each.name + " is completed");
        }
    }
    /// Checks that the experiment has run exactly twice, and has not waited cred_expire.
    Ended check_ran_twice(std::string const& name) const {
        auto const found = std::ranges::find(created_, name, &Created::name);
        BOOST_REQUIRE(found != created_.end());
        Ended const ended{log(found->id), describe(found->id)["trials"][0]["runs"]};
        auto const& runs = ended.runs;
        BOOST_REQUIRE_MESSAGE(runs.size() == 2u, runs.dump(2));
        BOOST_TEST(runs[0]["cause"] == "preempted", runs.dump(2));
        BOOST_TEST(runs[1]["cause"] == "finished", runs.dump(2));
        BOOST_TEST(runs[1]["restart_count"] == 1, runs.dump(2));
        BOOST_REQUIRE_MESSAGE(runs[0]["ended"].is_string(), runs.dump(2));
        auto const at = [](nlohmann::json const& time) {
            return parse_utc(time.get<std::string>()).value().microseconds;
        };
        BOOST_TEST(at(runs[1]["started"]) - at(runs[0]["ended"]) < 60'000'000, runs.dump(2));
        return ended;
    }
    /// Checks too that the second run has begun at the step at which the first one has saved.
    Ended check_resumed(std::string const& name) const {
        auto ended = check_ran_twice(name);
        auto const saved = ended.log.find("saved at step ");
        BOOST_REQUIRE_MESSAGE(saved != std::string::npos, ended.log);
        auto const step = std::stoi(ended.log.substr(saved + 14));
        BOOST_TEST(step >= 10);
        BOOST_TEST(ended.log.find(fmt::format("begins at step {}", step)) != std::string::npos, ended.log);
        return ended;
    }
    void check_requeued_once(std::string const& name) const {
        auto const text = check_resumed(name).log;
        auto const requeued = text.find("scontrol requeue ");
        BOOST_TEST(requeued != std::string::npos, text);
        BOOST_TEST(text.find("scontrol requeue ", requeued + 1) == std::string::npos, text);
    }

private:
    struct Created {
        std::string name, trains;
        int id = 0;
    };
    std::vector<Created> created_;
};

struct OnlyTasksAreSignalled : Site {
    OnlyTasksAreSignalled() : Site("cgroup") {}
};
struct EveryProcessIsSignalled : Site {
    EveryProcessIsSignalled() : Site("linuxproc") {}
};

/// The last "WORD N" in the text, for a word that occurs.
int last_number(std::string const& text, std::string const& word) {
    auto const at = text.rfind(word + " ");
    BOOST_REQUIRE_MESSAGE(at != std::string::npos, text);
    return std::stoi(text.substr(at + word.size() + 1));
}

}  // namespace foreign_programs

BOOST_AUTO_TEST_SUITE(foreign_programs)

BOOST_FIXTURE_TEST_CASE(if_only_tasks_get_signals, OnlyTasksAreSignalled) {
    create_torchrun("torchrun");
    create_requeue("requeue-on-usr1", "USR1", "goes-on");
    create_requeue("requeue-on-usr2", "USR2", "ends");
    // The shell in front of the program lives on and passes the code on.
    create("exit-code", "sh -c 'python3 exit_on_term.py 85 {}; exit $?'",
           "forward_signals: [TERM], preempted_exit_codes: [85]");
    create("ignores-term", "python3 exit_on_term.py ignore {}", "");
    create("snapshots", std::string(torchrun) + " snapshot_every_epoch.py 160", "working_directory: shared",
           "snapshot of epoch 10");
    preempt_and_finish();

    BOOST_TEST_CONTEXT("torchrun, started by det-launch") {
        BOOST_TEST(check_resumed("torchrun").log.find("finished with ") != std::string::npos);
    }
    BOOST_TEST_CONTEXT("a requeue on USR1") check_requeued_once("requeue-on-usr1");
    BOOST_TEST_CONTEXT("a requeue on USR2") check_requeued_once("requeue-on-usr2");
    BOOST_TEST_CONTEXT("an exit code") BOOST_TEST(check_ran_twice("exit-code").runs[0]["exit_code"] == 85);
    BOOST_TEST_CONTEXT("a program that ignores TERM") {
        auto const ended = check_ran_twice("ignores-term");
        auto const message = ended.runs[0]["message"].get<std::string>();
        BOOST_TEST(message.find("did not stop in time") != std::string::npos, message);
        BOOST_TEST(last_number(ended.log, "begins at step") > 10);
    }
    BOOST_TEST_CONTEXT("a snapshot in the working directory after each epoch, no signal handled") {
        auto const ended = check_ran_twice("snapshots");
        auto const resumed_at = last_number(ended.log, "begins at epoch");
        BOOST_TEST(resumed_at > 10, ended.log);
        // Epochs of the first run: the second one repeats none whose snapshot was written.
        auto const first_run = ended.log.substr(0, ended.log.rfind("begins at epoch"));
        BOOST_TEST(last_number(first_run, "snapshot of epoch") == resumed_at - 1, ended.log);
    }
}

BOOST_FIXTURE_TEST_CASE(if_every_process_gets_signals, EveryProcessIsSignalled) {
    create_torchrun("torchrun");
    create_requeue("requeue-on-usr2", "USR2", "ends");
    preempt_and_finish();
    BOOST_TEST_CONTEXT("torchrun, started by det-launch") check_resumed("torchrun");
    BOOST_TEST_CONTEXT("a requeue on USR2") check_requeued_once("requeue-on-usr2");
}

BOOST_AUTO_TEST_SUITE_END()
