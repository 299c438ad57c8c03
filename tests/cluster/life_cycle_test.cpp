// Searches, pauses, cancels, kills, forks and tests experiments on a real Slurm.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include "digits_cluster.hpp"

using namespace det;
using namespace std::chrono_literals;

namespace life_cycle {

struct Site : DigitsCluster {
    Site() : DigitsCluster(with_plugin()) {}

    void must_run(std::string const& command) const { shell("det " + command); }
    std::string queued() const { return shell("squeue --noheader --format=%j"); }
};

/// The ranks find each other without PMIx: Debian's package of Slurm 26.05 is built without it.
constexpr char without_pmix[] = "--config slurm.mpi=none";

constexpr char endless[] =
    "--template mpi --config resources.slots_per_trial=4 --config searcher.max_length.epochs=1000000";

}  // namespace life_cycle

BOOST_FIXTURE_TEST_SUITE(life_cycle, Site)

BOOST_AUTO_TEST_CASE(each_trial_of_a_grid_search_trains_with_its_own_hyperparameters) {
    auto const id = create(
        "--template mpi --config 'searcher={name: grid, metric: loss, max_concurrent_trials: 2}' "
        "--config resources.slots_per_trial=4 --config searcher.max_length.epochs=1 "
        "--config 'hyperparameters.hidden_units={type: categorical, vals: [8, 16, 24]}'");
    finish(id);
    auto const trials = ask(fmt::format("experiment list-trials {}", id));
    BOOST_REQUIRE(trials.size() == 3u);
    std::vector<int> units;
    for (auto const& trial : trials) units.push_back(trial.at("hyperparameters").at("hidden_units"));
    BOOST_TEST(units == (std::vector<int>{24, 16, 8}), boost::test_tools::per_element());
    BOOST_TEST(ask(fmt::format("experiment list-checkpoints {}", id)).size() == 3u);
}

BOOST_AUTO_TEST_CASE(cancel_saves_a_checkpoint_and_kill_removes_the_job) {
    auto const canceled = create(endless), killed = create(endless);
    for (auto const id : {canceled, killed}) {
        wait_until([&] { return !ask(fmt::format("trial metrics {}", id)).empty(); }, 60s, "it trains");
    }
    BOOST_TEST(
        shell(fmt::format("det trial shell {} --rank 1 -- sh -c 'echo rank $RANK; test -d $DET_RUN_DIR/info'",
                          canceled)) == "rank 1");
    must_run(fmt::format("e cancel {}", canceled));
    must_run(fmt::format("e kill {}", killed));
    wait_for_state(canceled, "CANCELED");
    wait_for_state(killed, "CANCELED");
    BOOST_TEST(!ask(fmt::format("e lc {}", canceled)).empty());
    wait_until([&] { return queued().empty(); }, 60s, "the queue is empty");
    must_run(fmt::format("e archive {}", killed));
    BOOST_TEST(ask("e ls").size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_search_of_which_trials_wait_is_paused_at_once) {
    auto const id =
        create(std::string(endless) +
               " --config 'searcher={name: grid, metric: loss, max_length: {epochs: 1000000}}' "
               "--config 'hyperparameters.hidden_units={type: categorical, vals: [8, 16, 24, 32]}'");
    auto const count = [&](std::string const& wanted) {
        auto const trials = ask(fmt::format("experiment list-trials {}", id));
        return std::ranges::count_if(trials, [&](auto const& each) { return each.at("state") == wanted; });
    };
    auto const is_training = [&] { return count("RUNNING") == 2 && count("QUEUED") == 2; };
    wait_until(is_training, 60s, "two trials run and two wait");
    auto const started = std::chrono::steady_clock::now();
    must_run(fmt::format("e pause {}", id));
    // scancel would repeat the signal to each running task after 5 s.
    BOOST_TEST((std::chrono::steady_clock::now() - started < 5s));
    wait_for_state(id, "PAUSED");
    BOOST_TEST(count("PAUSED") == 4);
    must_run(fmt::format("e cancel {}", id));
    wait_for_state(id, "CANCELED");
}

BOOST_AUTO_TEST_CASE(a_pending_experiment_is_cancelled_at_once_and_a_paused_one_starts_on_activate) {
    auto const paused = create("--template mpi --config searcher.max_length.epochs=1 --paused");
    BOOST_TEST(state(paused) == "PAUSED");
    auto const canceled = create(std::string(endless) + " --paused");
    must_run(fmt::format("e cancel {}", canceled));
    BOOST_TEST(state(canceled) == "CANCELED");
    must_run(fmt::format("e activate {}", paused));
    finish(paused);
    auto const fork = ask(fmt::format("e fork {} --config hyperparameters.hidden_units=8", paused));
    finish(fork.at("id"));
    must_run(fmt::format("e download-model-def {} -o copy", paused));
    BOOST_TEST(shell("diff -r code copy && echo same") == "same");
    // An existing directory keeps its own files; nothing is overwritten.
    BOOST_TEST(shell(fmt::format("mkdir here; cd here; echo mine > mine; det e download-model-def {} -o .",
                                 paused)) == ".");
    BOOST_TEST(shell("rm -r here/mine; diff -r code here && echo same") == "same");
    BOOST_TEST(shell(fmt::format("cd here; det e download-model-def {} -o . 2>&1 || echo exit $?; ls -A | "
                                 "grep det-unpack || true",
                                 paused))
                   .find("nothing is overwritten") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(compute_nodes_are_tried_and_starts_are_estimated_before_a_job_waits) {
    auto const tried = login("researcher", {"bash", "-c", "cd; det site try --pool compute --json"});
    auto const answer = nlohmann::json::parse(tried.out);
    BOOST_REQUIRE(answer.at("pools").size() == 1u);
    auto const& nodes = answer["pools"][0].at("nodes");
    BOOST_REQUIRE_MESSAGE(nodes.size() == 2u, tried.out);
    BOOST_TEST(nodes[0].at("node") == "n0");
    BOOST_TEST(nodes[0].at("network_bytes_per_s").get<double>() > 0);
    BOOST_TEST(nodes[1].at("storage_bytes_per_s").get<double>() > 0);
    // The GPUs of this site are no devices; all else is in order.
    for (auto const& finding : answer.at("findings")) {
        auto const what = finding.at("what").get<std::string>();
        if (finding.at("weight") == "change") BOOST_TEST(what.find("GPU") != std::string::npos, what);
    }
    BOOST_TEST(shell("ls " + root().string() + " | grep preflight || true") == "");

    auto const starts = ask("e create digits.yaml --template mpi --when");
    BOOST_REQUIRE(!starts.empty());
    BOOST_TEST(starts[0].at("now") == true);
    BOOST_TEST(queued() == "");
}

BOOST_AUTO_TEST_CASE(an_experiment_is_created_from_a_machine_without_slurm) {
    shell(
        "mkdir -m 700 sshd; ssh-keygen -q -t ed25519 -N '' -f sshd/host; ssh-keygen -q -t ed25519 -N '' -f "
        "sshd/user\n"
        "printf '%s\\n' 'Port 2222' 'ListenAddress 127.0.0.1' \"HostKey $PWD/sshd/host\" "
        "\"AuthorizedKeysFile $PWD/sshd/user.pub\" \"PidFile $PWD/sshd/pid\" 'StrictModes no' 'UsePAM no' "
        "> sshd/config\n"
        "/usr/sbin/sshd -f $PWD/sshd/config -E $PWD/sshd/log");
    auto const created = login(
        "researcher",
        {"bash", "-c",
         "cd; export SLURM_CONF=/nowhere DET_ROOT=/nowhere DET_SSH=\"ssh -p 2222 -i $PWD/sshd/user -o "
         "BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR\"; "
         "det e create --host 127.0.0.1 digits.yaml code --template mpi --config "
         "searcher.max_length.epochs=1 " +
             std::string(without_pmix)});
    BOOST_TEST(created.out == "Created experiment 1\n", created.err);
    finish(1);
    shell("kill $(cat sshd/pid)");
}

BOOST_AUTO_TEST_CASE(create_test_trains_one_batch_and_archives_the_experiment) {
    auto const output = login("researcher", {"bash", "-c",
                                             "cd; det e create digits.yaml code --template mpi --test " +
                                                 std::string(without_pmix)});
    BOOST_TEST(output.exit_code == 0, output.err);
    BOOST_TEST(output.err.find("the test completed") != std::string::npos, output.err);
    BOOST_TEST(output.out.find("[rank=0]") != std::string::npos, output.out);
    BOOST_TEST(ask("e ls").empty());
    BOOST_TEST(ask("e ls --all").size() == 1u);
    auto const validations = ask("trial metrics 1 --group validation");
    BOOST_REQUIRE(validations.size() == 1u);
    BOOST_TEST(validations[0].at("steps_completed") == 1);
}

BOOST_AUTO_TEST_SUITE_END()
