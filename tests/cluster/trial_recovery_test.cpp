// A trial continues after a bad node, a time limit, or a job that Slurm does not requeue.
#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include "digits_cluster.hpp"

using namespace det;
using namespace std::chrono_literals;

namespace trial_recovery {

struct Site : DigitsCluster {
    Site() : DigitsCluster(with_plugin()) {}

    /// Creates a one-node trial whose first run prints an ECC error. A log policy excludes the node then.
    int create_with_ecc_error(std::string const& arguments) const {
        return create(
            "--config resources.slots_per_trial=4 "
            "--config 'log_policies=[{name: ecc, pattern: ECC Error, action: exclude_node}]' "
            "--config 'entrypoint=[sh, -c, \"[ $DET_TRIAL_RUN_ID != 0 ] || { echo ECC Error; exit 3; }\"]' " +
            arguments);
    }
};

}  // namespace trial_recovery

BOOST_FIXTURE_TEST_SUITE(trial_recovery, Site)

BOOST_AUTO_TEST_CASE(the_next_run_avoids_a_bad_node_with_a_spare_node_or_by_requeue) {
    auto const spare = create_with_ecc_error("--config slurm.spare_nodes=1");
    finish(spare);
    auto const in_place = trial(spare).at("runs");
    BOOST_REQUIRE(in_place.size() == 2u);
    BOOST_TEST(in_place.at(0).at("follow") == "restart-in-place");
    BOOST_TEST(in_place.at(1).at("hosts") != in_place.at(0).at("hosts"));
    BOOST_TEST(in_place.at(1).at("restart_count") == 0);

    // bad_node_memory=0: otherwise this experiment would exclude the bad node from the beginning.
    auto const no_spare = create_with_ecc_error("--config slurm.bad_node_memory=0");
    finish(no_spare);
    auto const requeued = trial(no_spare).at("runs");
    BOOST_REQUIRE(requeued.size() == 2u);
    BOOST_TEST(requeued.at(0).at("follow") == "requeue");
    BOOST_TEST(requeued.at(1).at("hosts") != requeued.at(0).at("hosts"));
    BOOST_TEST(requeued.at(1).at("restart_count") == 1);
}

// One rank of four is killed. The state is kept every 10 steps, and a checkpoint was made at step 5 only.
BOOST_AUTO_TEST_CASE(a_trial_continues_from_the_memory_of_its_node) {
    auto const create_training = [&](std::string const& arguments) {
        return create(
            "--config resources.slots_per_trial=4 --config slurm.launch=rank --config slurm.mpi=none "
            "--config 'entrypoint=" DET_KEPT_IN_MEMORY
            " 60' "
            "--config 'slurm.memory_checkpoints={every: 10}' " +
            arguments);
    };
    auto const count_kept = [&] {  // on both nodes, which must be free
        return shell("srun --nodes=2 --ntasks=2 sh -c 'ls -d /dev/shm/det-memory-*' 2>/dev/null | wc -l");
    };
    auto const log_of = [&](int id, int run) {
        return shell(fmt::format("det-submit trial logs {} --run {}", id, run));
    };
    auto const last_state = [&](int id, int run) {
        auto const log = log_of(id, run);
        auto const at = log.find("the state is ");
        BOOST_REQUIRE_MESSAGE(at != std::string::npos, log);
        return log.substr(at, log.find('\n', at) - at);
    };
    auto const undisturbed = create_training("");
    finish(undisturbed);
    auto const killed = create_training("--config 'environment.environment_variables=[DIE_AT=37]'");
    finish(killed);
    auto const runs = trial(killed).at("runs");
    BOOST_REQUIRE_MESSAGE(runs.size() == 2u, runs.dump(2));
    BOOST_TEST(runs.at(0).at("follow") == "restart-in-place");
    BOOST_TEST(runs.at(1).at("restart_count") == 0);
    auto const second = log_of(killed, 1);
    BOOST_TEST(second.find("continues at step 30 from memory") != std::string::npos, second);
    BOOST_TEST(last_state(killed, 1) == last_state(undisturbed, 0));

    // Each step is reported once: those up to 30 by the first run, the others by the second.
    std::vector<std::uint64_t> steps;
    for (auto const& report : ask(fmt::format("trial metrics {} --group training", killed)))
        steps.push_back(report.at("steps_completed").get<std::uint64_t>());
    BOOST_REQUIRE(steps.size() == 60u);
    for (std::size_t i = 0; i < steps.size(); ++i) BOOST_TEST(steps[i] == i + 1);
    BOOST_TEST(count_kept() == "0");

    // What a job leaves that is killed with its supervisor, the next one removes.
    auto const training = create_training("--config 'entrypoint=" DET_KEPT_IN_MEMORY
                                          " 1000000000' --config slurm.memory_checkpoints.every=1000");
    auto const logs = fmt::format("det-submit trial logs {} 2>/dev/null || true", training);
    wait_until([&] { return shell(logs).find("keeps its state") != std::string::npos; }, 60s,
               "a state is kept");
    auto const job = trial(training).at("runs").at(0).at("job").get<std::string>();
    shell("scancel --signal=KILL --full " + job);
    wait_until([&] { return shell("squeue --noheader --jobs=" + job + " 2>/dev/null || true").empty(); }, 60s,
               "the job has ended");
    finish(create("--config resources.slots_per_trial=8 --config 'entrypoint=true' --config slurm.mpi=none"));
    BOOST_TEST(count_kept() == "0");
}

BOOST_AUTO_TEST_CASE(a_trial_that_fails_twice_in_the_same_way_within_seconds_ends) {
    shell("sed '/max_restarts/d' digits.yaml >default.yaml");
    auto const create_failing = [&](std::string const& arguments) {
        return nlohmann::json::parse(
                   shell("det-submit experiment create default.yaml code --json --config slurm.launch=rank "
                         "--config resources.slots_per_trial=4 --config slurm.mpi=none "
                         "--config 'entrypoint=echo process $$: no module named trainer; exit 3' " +
                         arguments))
            .at("id")
            .get<int>();
    };
    auto const by_default = create_failing("");
    auto const as_set = create_failing("--config max_restarts=2");
    for (auto const id : {by_default, as_set}) {
        auto const waited = login("researcher", {"det-submit", "experiment", "wait", std::to_string(id)});
        BOOST_TEST(waited.exit_code == 1, waited.err);
    }
    auto const runs = trial(by_default).at("runs");
    BOOST_REQUIRE_MESSAGE(runs.size() == 2u, runs.dump(2));
    auto const message = runs.at(1).at("message").get<std::string>();
    BOOST_TEST(message.find("failed twice in the same way: no restart") != std::string::npos, message);
    BOOST_TEST(trial(as_set).at("runs").size() == 3u);
}

BOOST_AUTO_TEST_CASE(a_line_of_setup_that_fails_is_not_repeated_on_its_node) {
    auto const on_n0 = create(
        "--config resources.slots_per_trial=4 --config 'entrypoint=echo begun' "
        "--config 'slurm.setup=[\"[ $SLURMD_NODENAME != n0 ]\"]'");
    finish(on_n0);
    auto const runs = trial(on_n0).at("runs");
    BOOST_REQUIRE_MESSAGE(runs.size() == 2u, runs.dump(2));
    BOOST_TEST(runs.at(0).at("hosts") == "n0");
    BOOST_TEST(runs.at(0).at("follow") == "requeue");
    BOOST_TEST(runs.at(1).at("hosts") == "n1");
    // The line may be wrong and not the node: other experiments may use it.
    auto const everywhere = create(
        "--config resources.slots_per_trial=4 --config 'entrypoint=echo begun' "
        "--config slurm.setup=[no_such_command]");
    wait_until([&] { return state(everywhere) == "ERROR"; }, 120s, "the experiment has failed");
    auto const failed = trial(everywhere).at("runs");
    BOOST_REQUIRE_MESSAGE(failed.size() == 2u, failed.dump(2));
    BOOST_TEST(failed.at(0).at("hosts") == "n0");
    BOOST_TEST(failed.at(1).at("hosts") == "n1");
}

BOOST_AUTO_TEST_CASE(a_node_that_fails_the_health_check_is_left_out_before_the_program_starts) {
    // The slots of this site are CPUs, because its GPUs are no devices.
    shell("printf 'version: 1\\nname: loopback\\npools: [{name: compute, slot_type: cpu}]\\n' >site.yaml");
    auto const tmp = LoopbackCluster::state() / "nodes/n0/tmp";
    auto const usual = std::filesystem::status(tmp).permissions();
    std::filesystem::permissions(tmp, std::filesystem::perms(0555));
    auto const create_checked = [&](std::string const& arguments) {
        return nlohmann::json::parse(
                   shell("DET_SITE=$HOME/site.yaml det-submit experiment create digits.yaml code --json "
                         "--config slurm.health_check=true --config max_restarts=0 --config slurm.mpi=none "
                         "--config slurm.bad_node_memory=0 --config 'entrypoint=echo ran' " +
                         arguments))
            .at("id")
            .get<int>();
    };
    auto const one = create_checked("--config resources.slots_per_trial=8");
    finish(one);
    auto const runs = trial(one).at("runs");
    BOOST_REQUIRE_MESSAGE(runs.size() == 2u, runs.dump(2));
    BOOST_TEST(runs.at(0).at("hosts") == "n0");
    BOOST_TEST(runs.at(0).at("cause") == "not-launched");
    auto const message = runs.at(0).at("message").get<std::string>();
    BOOST_TEST(message.find("node n0: cannot create '/tmp/.det-health-") != std::string::npos, message);
    BOOST_TEST(runs.at(1).at("hosts") == "n1");
    BOOST_TEST(runs.at(1).at("cause") == "finished");

    std::filesystem::permissions(tmp, usual);
    auto const both = create_checked("--config resources.slots_per_trial=16");
    finish(both);
    BOOST_TEST(trial(both).at("runs").size() == 1u);
    auto const output = shell(fmt::format("cat {}/slurm-*.out", directory(both).string()));
    BOOST_TEST(output.find("n[0-1] passed the health check in ") != std::string::npos, output);
}

BOOST_AUTO_TEST_CASE(a_command_of_the_site_that_fails_on_a_node_leaves_it_out_with_its_text) {
    shell(
        "printf 'version: 1\\nname: loopback\\npools: [{name: compute, slot_type: cpu}]\\n"
        "task_defaults: {slurm: {health_check: {command: [site-check, -r, \"1\"], timeout: 30}}}\\n' "
        ">site.yaml");
    auto const create_with = [&](std::string const& arguments) {
        return nlohmann::json::parse(shell("PATH=$HOME/tools:$PATH DET_SITE=$HOME/site.yaml det-submit "
                                           "experiment create digits.yaml "
                                           "code --json --config max_restarts=0 --config slurm.mpi=none "
                                           "--config slurm.bad_node_memory=0 --config 'entrypoint=echo ran' "
                                           "--config resources.slots_per_trial=8 " +
                                           arguments))
            .at("id")
            .get<int>();
    };
    // Until the program is there, no run is healthy: one of several nodes ends at once.
    auto const without = create_with("--config resources.slots_per_trial=16");
    wait_for_state(without, "ERROR");
    BOOST_TEST(trial(without).at("runs").at(0).at("message").get<std::string>().find(
                   "has the program 'site-check' of slurm.health_check.command") != std::string::npos);

    shell(
        "mkdir tools && printf '#!/bin/sh\\n[ $SLURMD_NODENAME != n0 ] || { echo \"diagnostic $2: GPU 3 fell "
        "off the bus\" >&2; exit 226; }\\n' >tools/site-check && chmod 755 tools/site-check");
    auto const one = create_with("");
    finish(one);
    auto const runs = trial(one).at("runs");
    BOOST_REQUIRE_MESSAGE(runs.size() == 2u, runs.dump(2));
    BOOST_TEST(runs.at(0).at("hosts") == "n0");
    BOOST_TEST(runs.at(0).at("cause") == "not-launched");
    auto const message = runs.at(0).at("message").get<std::string>();
    BOOST_TEST(message.find(
                   "node n0: 'site-check' ended with exit code 226: diagnostic 1: GPU 3 fell off the bus") !=
                   std::string::npos,
               message);
    BOOST_TEST(runs.at(1).at("hosts") == "n1");
    BOOST_TEST(runs.at(1).at("cause") == "finished");

    auto const unchecked = create_with("--config slurm.health_check=false");
    finish(unchecked);
    BOOST_TEST(trial(unchecked).at("runs").size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_trial_saves_and_requeues_before_a_time_limit) {
    auto const id = create(std::string(endless) + "--config 'slurm.sbatch_args=[--time=1]'");
    wait_until([&] { return trial(id).at("runs").size() == 2u; }, 120s, "a second run");
    wait_for_run(id, 1);
    auto const runs = trial(id).at("runs");
    BOOST_TEST(runs.at(0).at("cause") == "time-limit");
    BOOST_TEST(runs.at(0).at("follow") == "requeue");
    BOOST_TEST(runs.at(1).at("steps_completed") > 0);
    BOOST_TEST(runs.at(1).at("job") == runs.at(0).at("job"));
    shell(fmt::format("det experiment kill {}", id));
}

BOOST_AUTO_TEST_CASE(a_successor_job_is_submitted_if_slurm_does_not_requeue) {
    auto const id = create(endless);
    wait_for_run(id, 0);
    shell(fmt::format("scontrol update JobId={} Requeue=0",
                      trial(id).at("runs").at(0).at("job").get<std::string>()));
    shell(fmt::format("det experiment pause {}", id));
    wait_for_state(id, "PAUSED");
    auto const paused = trial(id).at("runs").at(0);
    BOOST_TEST(paused.at("message").get<std::string>().find("replaces it") != std::string::npos,
               paused.at("message"));
    BOOST_TEST(shell("squeue --noheader --format=%r") == "JobHeldUser");
    shell(fmt::format("det experiment activate {}", id));
    wait_for_run(id, 1);
    auto const resumed = trial(id).at("runs").at(1);
    BOOST_TEST(resumed.at("job") != paused.at("job"));
    BOOST_TEST(resumed.at("steps_completed") > 0);
    shell(fmt::format("det experiment kill {}", id));
}

BOOST_AUTO_TEST_CASE(a_trial_with_a_damaged_journal_resumes_from_its_checkpoint_in_the_storage) {
    auto const id = create(endless);
    wait_for_run(id, 0);
    shell(fmt::format("det experiment pause {}", id));
    wait_for_state(id, "PAUSED");
    auto const journal = directory(id) / "trials/0/runs/0/journal";
    auto const flip = [&](std::string const& offset) {
        shell(
            fmt::format("python3 -c 'import os; f = open(\"{}\", \"r+b\"); n = os.fstat(f.fileno()).st_size; "
                        "f.seek({}); b = f.read(1); f.seek(-1, 1); f.write(bytes([b[0] ^ 1]))'",
                        journal.string(), offset));
    };
    // In the record of the newest checkpoint, which is the last but one, and in a report of metrics.
    flip("n - 200");
    flip("n // 2");
    auto const metrics = shell(fmt::format("det trial metrics {} 2>&1 >metrics.txt; echo code $?", id));
    BOOST_TEST(metrics.find("code 8") != std::string::npos, metrics);
    BOOST_TEST(metrics.find(journal.string()) != std::string::npos, metrics);
    BOOST_TEST(shell("cat metrics.txt").find("training") != std::string::npos);
    shell(fmt::format("det experiment activate {} --accept-damage", id));
    wait_for_run(id, 1);
    BOOST_TEST(trial(id).at("runs").at(1).at("steps_completed") > 0);
    auto const output = shell(fmt::format("cat {}/slurm-*.out", directory(id).string()));
    BOOST_TEST(output.find("is damaged at byte") != std::string::npos, output);
    shell(fmt::format("det experiment kill {}", id));
}

BOOST_AUTO_TEST_SUITE_END()
