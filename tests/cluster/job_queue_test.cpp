// The order in which a real Slurm starts jobs after a plain user has moved them with `det-submit job update`.
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
    /// Lets all jobs run. Returns their names in the order in which Slurm started them.
    std::string run_all() const {
        shell("touch go");
        wait_until([&] { return shell("squeue --noheader").empty(); }, 120s, "the queue is empty");
        return shell("tr '\\n' ' ' <started");
    }

    std::string blocker_;
};

int create_logging(OneNode const& site, std::string const& name) {
    return site.create(
        fmt::format("--config slurm.launch=rank --config resources.slots_per_trial=1 "
                    "--config 'entrypoint=[sh, -c, \"echo {} >>{}/started\"]'",
                    name, site.home().string()));
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

BOOST_AUTO_TEST_SUITE_END()
