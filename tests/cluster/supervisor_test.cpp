// How the supervisor reacts to Slurm, to user commands and to failures, on a real Slurm.
#include <det/foundation/files.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include "check_result.hpp"
#include "digits_cluster.hpp"

using namespace det;
using namespace std::chrono_literals;

namespace supervisor {

struct Site : DigitsCluster {
    Site() : DigitsCluster(with_plugin()) {}

    /// Kills the oldest process of the cluster whose command line begins with `pattern`.
    void kill_hard(std::string const& pattern) const {
        shell(fmt::format("pkill --signal KILL --full --oldest '^{}' || true", pattern));
    }
};

}  // namespace supervisor

BOOST_FIXTURE_TEST_SUITE(supervisor, Site)

BOOST_AUTO_TEST_CASE(small_trials_share_a_node_and_killing_one_does_not_affect_the_others) {
    auto const id = create(
        "--template mpi --config 'searcher={name: grid, metric: loss, max_concurrent_trials: 3}' "
        "--config resources.slots_per_trial=1 "
        "--config 'hyperparameters.seconds={type: categorical, vals: [1, 2, 1000000, 3]}' "
        "--config 'entrypoint=python3 -c \"import time, determined as det; "
        "time.sleep(det.get_cluster_info().trial.hparams[\\\"seconds\\\"])\"'");
    // A grid is drawn from its last point backwards, so trial 1 is the endless one.
    wait_until([&] { return trial(id, 1).at("state") == "RUNNING"; }, 60s, "the long trial runs");
    for (std::size_t const other : {0u, 2u, 3u})
        wait_until([&] { return trial(id, other).at("state") == "COMPLETED"; }, 60s,
                   "the short ones are done");
    BOOST_TEST(trial(id, 3).at("runs").at(0).at("job") == trial(id, 1).at("runs").at(0).at("job"));
    BOOST_TEST(shell("squeue --noheader --state=running | wc -l") == "1");
    shell(fmt::format("det trial kill {}.1", id));
    wait_until([&] { return trial(id, 1).at("state") == "CANCELED"; }, 60s, "it is killed");
    wait_for_state(id, "COMPLETED");
}

BOOST_AUTO_TEST_CASE(a_pause_frees_the_nodes_and_activate_resumes_at_the_saved_step) {
    auto const id = create(endless);
    wait_for_run(id, 0);
    shell(fmt::format("det experiment pause {}", id));
    wait_for_state(id, "PAUSED");
    wait_until([&] { return shell("squeue --noheader --state=running | wc -l") == "0"; }, 60s,
               "nodes are free");
    auto const paused = trial(id).at("runs").at(0);
    BOOST_TEST(paused.at("cause") == "paused");
    shell(fmt::format("det experiment activate {}", id));
    wait_for_run(id, 1);
    auto const resumed = trial(id).at("runs").at(1);
    BOOST_TEST(resumed.at("steps_completed") > 0);
    shell(fmt::format("det experiment cancel {}", id));
    wait_for_state(id, "CANCELED");
}

BOOST_AUTO_TEST_CASE(a_trial_survives_the_death_of_each_process_of_its_job) {
    auto const id = create(std::string(endless) + "--config max_restarts=9");
    wait_for_run(id, 0);
    kill_hard("digits digits.csv");
    wait_for_run(id, 1);
    BOOST_TEST(trial(id).at("runs").at(0).at("cause") == "failed");
    kill_hard("[^ ]*/det-wrap-rank");
    wait_for_run(id, 2);
    kill_hard("srun --nodes");
    wait_for_run(id, 3);
    BOOST_TEST(trial(id).at("runs").at(2).at("cause") == "failed");
    kill_hard("[^ ]*/det-launch trial");
    wait_for_run(id, 4);
    auto const resumed = trial(id);
    BOOST_TEST(resumed.at("runs").at(3).at("cause") == "interrupted");
    BOOST_TEST(resumed.at("runs").at(3).at("message") == "its supervisor was killed and started again");
    BOOST_TEST(resumed.at("runs").at(4).at("steps_completed") > 0);
    BOOST_TEST(resumed.at("runs").at(4).at("job") == resumed.at("runs").at(3).at("job"));
    auto const life = root() / fmt::format("experiments/{}/trials/0/runs/4/life", id);
    auto const started = nlohmann::json::parse(shell(fmt::format("det dump {} | head -n 1", life.string())));
    BOOST_TEST(started.at("restarts") == 3, started.dump());  // the failures before
    BOOST_TEST(shell("squeue --steps --noheader | grep -cv -e batch -e extern") == "1");
    // det-batch starts the supervisor again once. The second time the job ends like the supervisor.
    kill_hard("[^ ]*/det-launch trial");
    wait_for_state(id, "INTERRUPTED");
    wait_until([&] { return shell("squeue --noheader | wc -l") == "0"; }, 60s, "its job is gone");
    shell(fmt::format("det experiment activate {}", id));
    wait_for_run(id, 5);
    BOOST_TEST(trial(id).at("runs").at(5).at("steps_completed") > 0);
    BOOST_TEST(trial(id).at("runs").at(5).at("job") != resumed.at("runs").at(4).at("job"));
    // If det-batch itself is killed, the supervisor and the job end with it.
    kill_hard("[^ ]*/det-batch ");
    wait_for_state(id, "INTERRUPTED");
    wait_until([&] { return shell("squeue --noheader | wc -l") == "0"; }, 60s, "its job is gone");
    BOOST_TEST(shell("pgrep --full --count '^[^ ]*/det-launch trial' || true") == "0");
    shell(fmt::format("det experiment activate {}", id));
    wait_for_run(id, 6);
    auto const batch =
        login("root", {"pkill", "--signal", "KILL", "--full", R"(^slurmstepd: \[[0-9]+\.batch\])"});
    BOOST_TEST(batch.exit_code == 0, batch.err);
    // Without the batch slurmstepd no signal reaches the supervisor, and slurmctld does not learn of its end.
    shell(fmt::format("det experiment cancel {}", id));
    wait_for_state(id, "CANCELED");
    wait_until([&] { return shell("squeue --noheader | wc -l") == "0"; }, 60s, "the job is gone");
}

BOOST_AUTO_TEST_CASE(a_step_without_its_slurmstepd_is_abandoned_and_restarted) {
    // srun does not notice. DET_SILENCE_S shortens the half minute after which the supervisor does.
    // Without PMIx, which not every Slurm has.
    auto const answer = shell(fmt::format(
        "DET_SILENCE_S=8 det experiment create digits.yaml code {} --config slurm.mpi=none --json", endless));
    auto const id = nlohmann::json::parse(answer).at("id").get<int>();
    wait_for_run(id, 0);
    auto const killed =
        login("root", {"pkill", "--signal", "KILL", "--full", R"(^slurmstepd: \[[0-9]+\.0\])"});
    BOOST_TEST(killed.exit_code == 0, killed.err);
    wait_until([&] { return trial(id).at("runs").size() == 2; }, 150s, "a second run");
    auto const lost = trial(id).at("runs").at(0);
    BOOST_TEST(lost.at("cause") == "failed");
    BOOST_TEST(lost.at("message").get<std::string>().find("the slurmstepd of its step was gone on node") !=
                   std::string::npos,
               lost.at("message"));
    wait_for_run(id, 1);
    shell(fmt::format("det experiment kill {}", id));
}

BOOST_AUTO_TEST_CASE(a_node_that_returns_after_a_network_failure_does_not_touch_the_new_run) {
    auto const id = create(endless);
    wait_for_run(id, 0);
    auto const node = trial(id).at("runs").at(0).at("hosts").get<std::string>();
    command({"node", "cut", node});
    auto const job = trial(id).at("runs").at(0).at("job").get<std::string>();
    wait_until([&] { return shell("squeue --noheader --format=%T") == "PENDING"; }, 120s,
               "Slurm requeues its job");
    shell(fmt::format("scontrol update JobId={} StartTime=now+1", job));
    wait_for_run(id, 1);
    command({"node", "heal", node});
    // slurmctld pings a node that is down only every few minutes, so the log of its slurmd is read instead.
    auto const log = LoopbackCluster::state() / "log" / fmt::format("slurmd.{}.log", node);
    wait_until([&] { return must(read_file(log)).find(".batch] done with ") != std::string::npos; }, 120s,
               "the supervisor of the first run has ended");
    auto const runs = trial(id).at("runs");
    BOOST_TEST(runs.size() == 2u);
    BOOST_TEST(runs.at(0).at("ended").is_null());
    BOOST_TEST(runs.at(1).at("ended").is_null());
    BOOST_TEST(runs.at(1).at("hosts") != node);
    BOOST_TEST(runs.at(1).at("restart_count") == 1);
    BOOST_TEST(state(id) == "RUNNING");
    shell(fmt::format("det experiment kill {}", id));
}

BOOST_AUTO_TEST_CASE(each_array_task_is_requeued_separately) {
    auto const id = create(
        "--template mpi --config 'searcher={name: grid, metric: loss, max_concurrent_trials: 2, "
        "max_length: {epochs: 25}}' --config resources.slots_per_trial=4 "
        "--config 'hyperparameters.hidden_units={type: categorical, vals: [8, 16, 24, 32]}'");
    std::vector<int> preempted(4, 0);
    for (int round = 0; round < 4; ++round) {
        // Preempts the trial of this round.
        auto const wanted = static_cast<std::size_t>(round);
        wait_until([&] { return trial(id, wanted).at("state") != "QUEUED"; }, 120s, "its turn");
        auto const before = trial(id, wanted);
        if (before.at("state") != "RUNNING") continue;  // it has already ended
        auto const node = before.at("runs").back().at("hosts").get<std::string>();
        shell(fmt::format("srun --partition urgent --nodes 1 --nodelist {} true", node), 90s);
        for (std::size_t other = 0; other < 4; ++other) {
            auto const runs = trial(id, other).at("runs");
            for (auto const& run : runs) {
                if (!run.at("cause").is_null() && run.at("cause") == "preempted") continue;
                BOOST_TEST((run.at("cause").is_null() || run.at("cause") == "finished"));
            }
        }
    }
    finish(id);
    for (std::size_t index = 0; index < 4; ++index) {
        auto const runs = trial(id, index).at("runs");
        BOOST_TEST(runs.back().at("cause") == "finished");
        for (auto const& run : runs)
            BOOST_TEST(run.at("job").get<std::string>().ends_with(fmt::format("_{}", index)));
    }
}

BOOST_AUTO_TEST_SUITE_END()
