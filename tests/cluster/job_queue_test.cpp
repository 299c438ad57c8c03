// What a real Slurm's queue shows and does: jobs that a plain user has moved with `det-submit job update`,
// experiments that wait for others, and searches of which some trials wait.
#include <det/foundation/files.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include "digits_cluster.hpp"

using namespace det;
using namespace std::chrono_literals;

namespace job_queue {

/// A cluster of one node, so that jobs start one after the other. Each job appends its name to the file
/// "started".
struct OneNode : DigitsCluster {
    OneNode() : DigitsCluster(options()) {
        shell("printf '#!/bin/bash\\nwhile [ ! -e go ]; do sleep 0.1; done\\n' >blocker");
        shell("printf '#!/bin/bash\\necho $SLURM_JOB_NAME >>started\\n' >says");
        blocker_ = submit("blocker");
        wait_until([&] { return shell("squeue --noheader --states=R --format=%j") == "blocker"; }, 30s,
                   "the node is taken");
    }

    static LoopbackOptions options() {
        LoopbackOptions options;
        options.nodes = 1;
        // A job that is moved to partition urgent would preempt the blocker.
        options.slurm_options = {
            "PartitionName=other Nodes=ALL PriorityTier=1 OverSubscribe=EXCLUSIVE State=UP"};
        return options;
    }

    std::string submit(std::string const& script, std::string const& options = "") const {
        return shell(fmt::format("sbatch --parsable --exclusive --output=/dev/null --chdir=$HOME {} {}",
                                 options, script));
    }
    std::string plain_job(std::string const& name) const {
        return submit("says", "--nice=100 --job-name=" + name);
    }
    ProcessOutput update(std::string const& arguments, std::string const& user = "researcher") const {
        return login(user, {"bash", "-c", "cd /; det-submit job " + arguments});
    }
    void must_update(std::string const& arguments) const {
        auto const output = update(arguments);
        BOOST_REQUIRE_MESSAGE(output.exit_code == 0, arguments << "\n" << output.err);
    }
    void must_run(std::string const& command) const { shell("det-submit " + command); }
    /// Lets all jobs run. Returns their names in the order in which Slurm started them.
    std::string run_all() const {
        shell("touch go");
        wait_until([&] { return shell("squeue --noheader").empty(); }, 120s, "the queue is empty");
        return shell("tr '\\n' ' ' <started");
    }

    std::string blocker_;
};

/// Creates an experiment whose trials run the shell command in the home directory.
int create_command(OneNode const& site, std::string const& command, std::string const& arguments = "") {
    return site.create(
        fmt::format("--config slurm.launch=rank --config resources.slots_per_trial=1 --config max_restarts=0 "
                    "--config 'entrypoint=[sh, -c, \"cd {} && {}\"]' {}",
                    site.home().string(), command, arguments));
}

int create_logging(OneNode const& site, std::string const& name, std::string const& arguments = "") {
    return create_command(site, fmt::format("echo {} >>started", name), arguments);
}

/// A grid search; its tasks run `trials_per_node` trials at a time.
std::string grid_of(int trials, int trials_per_node = 1) {
    std::string values;
    for (int i = 0; i < trials; ++i) values += fmt::format("{}{}", i == 0 ? "" : ", ", i);
    return fmt::format(
        "--config 'searcher={{name: grid, metric: loss}}' --config slurm.trials_per_node={} "
        "--config 'hyperparameters={{a: {{type: categorical, vals: [{}]}}}}'",
        trials_per_node, values);
}

std::string after(std::string const& predecessor, std::string const& key = "after") {
    return fmt::format("--config 'slurm.{}=[\"{}\"]'", key, predecessor);
}

ProcessOutput try_to_create(OneNode const& site, std::string const& arguments) {
    return site.login("researcher", {"bash", "-c",
                                     "cd; det-submit experiment create digits.yaml --config "
                                     "resources.slots_per_trial=1 " +
                                         arguments});
}

/// What Slurm shows of an experiment's job; `field` is a letter of squeue's --format.
std::string shown(OneNode const& site, int experiment, char field) {
    return site.shell(fmt::format("squeue --noheader --states=all --format=%{} --name=exp-{} | sort -u",
                                  field, experiment));
}

std::string dependency_on(OneNode const& site, int predecessor, std::string const& tasks) {
    return fmt::format("afterany:{}_{}(unfulfilled)", shown(site, predecessor, 'F'), tasks);
}

}  // namespace job_queue

BOOST_AUTO_TEST_SUITE(job_queue)

BOOST_FIXTURE_TEST_CASE(experiments_start_in_the_order_that_their_owner_sets, OneNode) {
    auto const a = create_logging(*this, "a");
    auto const b = create_logging(*this, "b");
    auto const c = create_logging(*this, "c");
    must_update(fmt::format("update exp-{} --ahead-of exp-{}", c, a));
    must_update(fmt::format("update exp-{} --behind-of exp-{}", a, b));
    BOOST_TEST(run_all() == "c b a");
}

BOOST_FIXTURE_TEST_CASE(plain_jobs_can_be_moved_and_a_dry_run_moves_nothing, OneNode) {
    auto const a = plain_job("a"), b = plain_job("b"), c = plain_job("c");
    auto const before = shell("squeue --noheader --format='%i %Q %y'");
    must_update(fmt::format("update {} --ahead-of {} --dry-run", c, a));
    BOOST_TEST(shell("squeue --noheader --format='%i %Q %y'") == before);
    must_update(fmt::format("update-batch {}.ahead-of={} {}.priority=99", c, b, a));
    BOOST_TEST(run_all() == "c b a");
}

BOOST_FIXTURE_TEST_CASE(if_a_job_cannot_move_ahead_the_others_are_moved_behind_it, OneNode) {
    auto const job = [&](std::string const& name) { return submit("says", "--job-name=" + name); };
    auto const a = job("a"), b = job("b"), c = job("c");
    must_update(fmt::format("update {} --ahead-of {}", c, a));
    BOOST_TEST(run_all() == "c a b");
}

BOOST_FIXTURE_TEST_CASE(updates_that_a_plain_user_may_not_make_are_refused, OneNode) {
    auto const mine = plain_job("mine");
    auto const held = submit("says", "--hold");
    auto const over = submit("says", "--job-name=over --partition=urgent --begin=now+3600");
    shell("scancel " + over);
    auto const expect = [&](std::string const& arguments, int code, std::string const& words,
                            std::string const& user = "researcher") {
        auto const output = update(arguments, user);
        BOOST_TEST(output.exit_code == code, arguments << ": " << output.exit_code << "\n" << output.err);
        BOOST_TEST(output.err.find(words) != std::string::npos, arguments << "\n" << output.err);
    };
    expect(fmt::format("update {} --priority 1", mine), 1, "is researcher's", "colleague");
    expect(fmt::format("update {} --ahead-of {}", mine, blocker_), 1, "does not wait: it is RUNNING");
    expect(fmt::format("update {} --priority 1", held), 1, "is held");
    expect(fmt::format("update {} --priority 1", over), 1, "is over");
    expect("update 4711 --priority 1", 4, "no job '4711'");
    expect(fmt::format("update {} --weight 2", mine), 1, "priority/basic");
    expect(fmt::format("update {} --resource-pool nope", mine), 3, "nope");
    expect(fmt::format("update {} --priority 0", mine), 2, "most urgent");
    expect(fmt::format("update {} --priority 1 --rights operator", mine), 5, "permission denied");
}

BOOST_FIXTURE_TEST_CASE(a_job_can_change_its_pool_and_an_operator_can_set_priorities, OneNode) {
    auto const a = plain_job("a"), b = plain_job("b");
    // Slurm 24.11.5 and 26.05.5 refuse such a change at random. det-submit repeats it.
    for (int i = 0; i < 5; ++i) {
        must_update(fmt::format("update {} --resource-pool other", b));
        BOOST_TEST(shell("squeue --noheader --format=%P --job " + b) == "other");
        must_update(fmt::format("update {} --resource-pool compute", b));
    }
    BOOST_TEST(shell("squeue --noheader --format=%P --job " + b) == "compute");
    auto const set = update(fmt::format("update {} --priority 10", b), "root");
    BOOST_TEST(set.exit_code == 0, set.err);
    BOOST_TEST(shell("squeue --noheader --format=%Q --job " + b) == "4294901792");
    BOOST_TEST(run_all() == "b a");
}

BOOST_FIXTURE_TEST_CASE(an_experiment_depends_in_slurm_on_the_jobs_of_its_predecessor, OneNode) {
    auto const one = create_logging(*this, "one");
    auto const search = create_logging(*this, "search", grid_of(3));
    auto const packed = create_logging(*this, "packed", grid_of(4, 4));
    auto const follow = [&](std::string const& predecessor) {
        return create_logging(*this, "after-" + predecessor, after(predecessor));
    };
    auto const expect = [&](std::string const& predecessor, std::string const& dependency) {
        auto const follower = follow(predecessor);
        BOOST_TEST(shown(*this, follower, 'E') == dependency);
        return follower;
    };
    auto const after_one = expect(std::to_string(one), dependency_on(*this, one, "*"));
    expect(fmt::format("{}.0", one), dependency_on(*this, one, "0"));
    expect(std::to_string(search), dependency_on(*this, search, "*"));
    expect(fmt::format("{}.1", search), dependency_on(*this, search, "1"));
    expect(std::to_string(packed), dependency_on(*this, packed, "*"));
    expect(fmt::format("{}.3", packed), dependency_on(*this, packed, "*"));  // any task may run it

    for (int id = search; id <= after_one + 5; ++id) {
        if (id != after_one) must_run(fmt::format("experiment kill {}", id));
    }
    BOOST_TEST(run_all() == fmt::format("one after-{}", one));
    // The successor waited in Slurm's queue: it did not start too early, and was not requeued.
    BOOST_TEST(trial(after_one).at("runs").at(0).at("restart_count") == 0);
}

BOOST_FIXTURE_TEST_CASE(an_experiment_after_one_that_fails_or_has_ended_does_not_wait_in_vain, OneNode) {
    auto const fails = create_command(*this, "exit 3");
    auto const needs_it = create_logging(*this, "never", after(std::to_string(fails)));
    auto const takes_any = create_logging(*this, "any", after(std::to_string(fails), "after_any"));
    for (auto const id : {needs_it, takes_any})
        BOOST_TEST(shown(*this, id, 'E') == dependency_on(*this, fails, "*"));
    BOOST_TEST(run_all() == "any");
    BOOST_TEST(state(fails) == "ERROR");
    BOOST_TEST(state(needs_it) == "ERROR");
    BOOST_TEST(trial(needs_it).at("runs").at(0).at("message") ==
               fmt::format("experiment {}, after which it was to start, did not end well", fails));
    BOOST_TEST(trial(takes_any).at("runs").at(0).at("restart_count") == 0);

    // The predecessors have ended, and Slurm still shows their jobs.
    auto const refused = try_to_create(*this, after(std::to_string(fails)));
    BOOST_TEST(refused.exit_code == 1, refused.err);
    BOOST_TEST(refused.err.find("did not end well") != std::string::npos, refused.err);
    shell("rm started");
    auto const last = create_logging(*this, "last", after(std::to_string(takes_any)));
    BOOST_TEST(shown(*this, last, 'E') == "(null)");
    BOOST_TEST(run_all() == "last");
}

BOOST_FIXTURE_TEST_CASE(a_search_that_is_killed_after_one_of_its_trials_has_completed_is_canceled, OneNode) {
    auto const search = create_command(
        *this,
        "case $DET_TASK_ID in *.0) exit 0;; esac; touch second; while [ ! -e stop ]; do sleep 0.1; done",
        grid_of(3));
    shell("touch go");
    wait_until([&] { return path_exists(home() / "second"); }, 60s, "the second trial runs");
    must_run(fmt::format("experiment kill {}", search));
    shell("touch stop");
    auto const waited = login("researcher", {"det-submit", "experiment", "wait", std::to_string(search)});
    BOOST_TEST(waited.exit_code == 1, waited.err);
    BOOST_TEST(waited.err.find(fmt::format("experiment {} ended as CANCELED", search)) != std::string::npos,
               waited.err);
    BOOST_TEST(state(search) == "CANCELED");
    BOOST_TEST(trial(search, 0).at("state") == "COMPLETED");
    // An experiment that was to start after its good end does not start.
    auto const follower = try_to_create(*this, after(std::to_string(search)));
    BOOST_TEST(follower.exit_code == 1, follower.err);
    BOOST_TEST(follower.err.find("did not end well") != std::string::npos, follower.err);
}

BOOST_FIXTURE_TEST_CASE(the_start_of_a_job_behind_one_without_a_time_limit_is_unknown, OneNode) {
    auto const created = ask("experiment create digits.yaml --config resources.slots_per_trial=1");
    BOOST_TEST(created.at("start_estimate").is_null(), created.dump());
    BOOST_TEST(created.at("start_unknown_because") == "jobs before it have no time limit", created.dump());
    // Slurm's own estimate is in a year.
    wait_until([&] { return shown(*this, 1, 'S') != "N/A"; }, 60s, "Slurm estimates the start");
    auto const jobs = ask("job list");
    BOOST_REQUIRE(jobs.size() == 2u);
    BOOST_TEST(jobs[1].at("start_estimate").is_null(), jobs.dump());
    BOOST_TEST(jobs[1].at("start_unknown_because") == "jobs before it have no time limit", jobs.dump());
    // A limit of the running job makes the estimate usable.
    login("root", {"scontrol", "update", "JobId=" + blocker_, "TimeLimit=30"});
    wait_until([&] { return ask("job list")[1].at("start_estimate").is_string(); }, 60s, "an estimate");
    BOOST_TEST(ask("job list")[1].at("start_unknown_because").is_null());
}

BOOST_FIXTURE_TEST_CASE(the_name_of_a_job_is_the_same_in_each_run_of_its_trial, OneNode) {
    auto const id = create_command(*this, "echo $SLURM_JOB_NAME >>started; [ $DET_TRIAL_RUN_ID = 1 ]",
                                   "--config max_restarts=1");
    BOOST_TEST(run_all() == fmt::format("exp-{} exp-{}", id, id));
    BOOST_TEST(trial(id).at("runs").size() == 2u);
}

BOOST_AUTO_TEST_SUITE_END()
