#include <det/experiment/root_directory.hpp>
#include <det/protocol/experiment_spec.hpp>

#include <boost/test/unit_test.hpp>

#include "cli_support.hpp"
#include "example_experiments.hpp"
#include "golden.hpp"

using namespace det;
using namespace det::cli;
using namespace det::experiment;
using slurm::JobState;
using slurm::JobStatus;

namespace job_update_test {

struct Fixture : CliFixture {
    Fixture() {
        slurm.partition_list.push_back(
            {"small", false, true, "OFF", std::chrono::seconds(0), {{1, 8, "idle", "gpu:2"}}});
        slurm.config =
            slurm::ClusterConfig({{"PriorityType", "priority/basic"}, {"SlurmUser", "slurm(64030)"}});
        auto experiment = job(5, 1000, 100);
        experiment.comment = "det:" + root_id(root) + "/7";
        slurm.other_jobs = {experiment, job(6, 999, 100), job(8, 998, 100), job(9, 1100, 0), job(3, 5, 0)};
        slurm.other_jobs[3].user = "stranger";
        slurm.other_jobs[4].state = JobState::running;
        slurm.other_jobs[4].state_text = "RUNNING";
        // As with Slurm, later queries show the changes.
        slurm.on_call = [this](std::string const& call) { obey(call); };
    }

    JobStatus job(std::uint32_t number, std::int64_t priority, std::int64_t nice) const {
        JobStatus job;
        job.ref = {number, {}};
        job.state = JobState::pending;
        job.state_text = "PENDING";
        job.priority = priority;
        job.nice = nice;
        job.nodes = 2;
        job.tres_per_node = "gres:gpu:4";
        job.user = user_name(environment);
        job.partition = "compute";
        job.name = "job-" + std::to_string(number);
        return job;
    }

    void obey(std::string const& call) {
        auto const words = split(call, ' ');
        if (!obeys || words.size() != 3 || words[0] != "change" || !words[2].starts_with("nice=")) return;
        auto const nice = parse_integer<std::int64_t>(words[2].substr(5)).value();
        for (auto& each : slurm.other_jobs) {
            if (to_string(each.ref) != words[1]) continue;
            each.priority += each.nice - nice;
            each.nice = nice;
        }
    }

    int update(std::string const& line) {
        slurm.calls.clear();
        return run("job " + line + " --rights owner");
    }
    std::string changes() const {
        std::string text;
        for (auto const& call : slurm.calls) {
            if (call.starts_with("change") || call.starts_with("top")) text += call + ";";
        }
        return text;
    }

    /// Replaces the name of the current user with "me". The golden files have this word.
    std::string for_everybody(std::string text) const {
        auto const user = user_name(environment);
        for (auto const before : {" ", "\""}) {
            for (auto at = text.find(before + user); at != std::string::npos;
                 at = text.find(before + user, at + 1))
                text.replace(at + 1, user.size(), "me");
        }
        return text;
    }

    bool obeys = true;
};

}  // namespace job_update_test

BOOST_FIXTURE_TEST_SUITE(job_update_test, Fixture)

BOOST_AUTO_TEST_CASE(an_owner_moves_a_job_ahead_by_its_nice) {
    BOOST_TEST(update("update 8 --ahead-of 6") == 0, err);
    BOOST_TEST(changes() == "change 8 nice=98;");
    check_golden("cli/job_update.txt", for_everybody(out));
    BOOST_TEST(update("update 8 --ahead-of 6") == 0);
    BOOST_TEST(changes() == "");
    BOOST_TEST(contains(out, "nothing to change"), out);
}

BOOST_AUTO_TEST_CASE(without_a_nice_to_take_back_the_owners_other_jobs_fall_back) {
    for (auto& each : slurm.other_jobs) each.nice = 0;
    BOOST_TEST(update("update 8 --ahead-of 6") == 0, err);
    BOOST_TEST(changes() == "change 6 nice=2;");
    BOOST_TEST(contains(err, "job 6 falls back: its nice becomes 2"), err);
}

BOOST_AUTO_TEST_CASE(a_dry_run_shows_the_moves_and_makes_none) {
    BOOST_TEST(update("update 8 --ahead-of exp-7 --dry-run --json") == 0, err);
    BOOST_TEST(changes() == "");
    check_golden("cli/job_update_dry_run.json", for_everybody(out));
    BOOST_TEST(contains(err, "nothing was changed"));
}

BOOST_AUTO_TEST_CASE(all_nodes_of_a_mixed_pool_that_are_large_enough_count) {
    slurm.partition_list.push_back(
        {"mixed",
         false,
         true,
         "OFF",
         std::chrono::seconds(0),
         {{1, 8, "idle", "gpu:8"}, {1, 8, "idle", "gpu:4"}, {2, 8, "idle", "gpu:2"}}});
    BOOST_TEST(update("update 7 --resource-pool mixed --dry-run") == 0, err);
}

BOOST_AUTO_TEST_CASE(an_experiment_is_moved_to_a_pool_where_it_fits) {
    BOOST_TEST(update("update 7 --priority 1") == 0, err);
    BOOST_TEST(changes() == "change 5 nice=0;");
    BOOST_TEST(update("update 7 --resource-pool small") == to_int(ExitCode::bad_file));
    BOOST_TEST(contains(err, "job 5 needs 2 nodes with 4 GPUs each; pool 'small' has 0 such nodes"), err);
    BOOST_TEST(update("update 7 --resource-pool nope") == to_int(ExitCode::bad_file));
    BOOST_TEST(changes() == "");
}

BOOST_AUTO_TEST_CASE(a_moved_experiment_is_resubmitted_to_its_new_pool) {
    slurm.partition_list.push_back(
        {"large", false, true, "OFF", std::chrono::seconds(0), {{4, 8, "idle", "gpu:4"}}});
    slurm.on_call = [this](std::string const& call) {
        if (call == "change 5 partition=large") slurm.other_jobs[0].partition = "large";
    };
    auto const layout = create_example(root, 7);
    auto const spec = [&] { return must(parse_spec(must(read_file(layout.spec())))); };
    BOOST_TEST(update("update 7 --resource-pool large --dry-run") == 0, err);
    BOOST_TEST(spec().pool == "compute");
    BOOST_TEST(update("update 7 --resource-pool large") == 0, err);
    BOOST_TEST(spec().pool == "large");
    BOOST_TEST(spec().sbatch_options == std::vector<std::string>{"--partition=large"},
               boost::test_tools::per_element());
    // A move is made even if it can't be recorded.
    must(remove_tree(layout.path()));
    slurm.other_jobs[0].partition = "compute";
    BOOST_TEST(update("update 7 --resource-pool large") == 0, err);
    BOOST_TEST(contains(err, "recording where the experiment's jobs are now"), err);
}

BOOST_AUTO_TEST_CASE(another_users_job_is_passed_as_far_as_the_nice_allows) {
    BOOST_TEST(update("update 5 --ahead-of 9") == 0, err);  // equal priorities: the older one is first
    BOOST_TEST(changes() == "change 5 nice=0;");
    BOOST_TEST(update("update 8 --ahead-of 9") == to_int(ExitCode::could_not));
    BOOST_TEST(contains(err, "reaches 1098 with nice 0, and job 9 has 1100"), err);
    BOOST_TEST(contains(err, "[no-legal-move]"), err);
    BOOST_TEST(changes() == "");
}

BOOST_AUTO_TEST_CASE(a_batch_reports_all_errors_before_any_change) {
    BOOST_TEST(update("update-batch 5.prio=1 6.priority=0 8.ahead-of=77 5.priority=2") ==
               to_int(ExitCode::usage));
    check_golden("cli/job_update_batch_errors.txt", err);
    BOOST_TEST(changes() == "");
    for (auto const* malformed : {"5", "5.priority", "5.priority=", ".priority=1", "5.=1", "5=priority.1"}) {
        BOOST_TEST(update(std::string("update-batch ") + malformed) == to_int(ExitCode::usage), malformed);
        BOOST_TEST(contains(err, "is not of the form ID.OPERATION=VALUE"), err);
    }
    BOOST_TEST(update("update-batch 8.ahead-of=6 5.behind-of=6") == 0, err);
    BOOST_TEST(changes() == "change 8 nice=96;change 6 nice=98;");
}

BOOST_AUTO_TEST_CASE(an_update_is_exactly_one_change) {
    BOOST_TEST(update("update 5") == to_int(ExitCode::usage));
    BOOST_TEST(update("update 5 --priority 1 --ahead-of 6") == to_int(ExitCode::usage));
    BOOST_TEST(update("update 5 --priority one") == to_int(ExitCode::usage));
    BOOST_TEST(update("update x --priority 1") == to_int(ExitCode::usage));
    BOOST_TEST(update("update 4711 --priority 1") == to_int(ExitCode::absent));
    BOOST_TEST(update("update 3 --priority 1") == to_int(ExitCode::could_not));
    BOOST_TEST(update("update 9 --priority 1") == to_int(ExitCode::could_not));
    BOOST_TEST(changes() == "");
}

BOOST_AUTO_TEST_CASE(a_weight_is_refused_with_the_policy_of_the_site) {
    BOOST_TEST(update("update 5 --weight 2") == to_int(ExitCode::could_not));
    BOOST_TEST(contains(err, "priority/basic"), err);
    slurm.config =
        slurm::ClusterConfig({{"PriorityType", "priority/multifactor"}, {"PriorityWeightFairShare", "1000"}});
    BOOST_TEST(update("update 5 -w 2") == to_int(ExitCode::could_not));
    BOOST_TEST(contains(err, "shares out between accounts"), err);
}

BOOST_AUTO_TEST_CASE(where_all_weights_are_0_an_order_that_slurm_does_not_reach_is_explained) {
    obeys = false;
    BOOST_TEST(update("update 8 --ahead-of 6") == to_int(ExitCode::could_not));
    BOOST_TEST(!contains(err, "all weights 0"), err);
    slurm.config =
        slurm::ClusterConfig({{"PriorityType", "priority/multifactor"}, {"PriorityWeightAge", "0"}});
    BOOST_TEST(update("update 8 --ahead-of 6") == to_int(ExitCode::could_not));
    BOOST_TEST(contains(err, "with all weights 0"), err);
    BOOST_TEST(contains(err, "PriorityType=priority/basic"), err);
    slurm.config =
        slurm::ClusterConfig({{"PriorityType", "priority/multifactor"}, {"PriorityWeightAge", "1"}});
    BOOST_TEST(update("update 8 --ahead-of 6") == to_int(ExitCode::could_not));
    BOOST_TEST(!contains(err, "all weights 0"), err);
}

BOOST_AUTO_TEST_CASE(a_weight_is_refused_with_the_accounts_and_qos_that_give_more) {
    auto const me = user_name(environment);
    std::map<std::string, std::string> settings{{"PriorityType", "priority/multifactor"},
                                                {"PriorityWeightFairShare", "1000"},
                                                {"PriorityWeightQOS", "0"}};
    auto const refuse = [&] {
        slurm.config = slurm::ClusterConfig({settings.begin(), settings.end()});
        BOOST_TEST(update("update 8 --weight 2") == to_int(ExitCode::could_not));
    };
    slurm.fair_shares = {{"ml", 0.25}};
    slurm.accounting.associations = {{"ml", me, "", "", {"normal", "high"}, "", {}},
                                     {"ml", "stranger", "", "", {"theirs"}, "", {}}};
    slurm.accounting.qos = {{"normal", {}, 10}, {"high", {}, 100}, {"theirs", {}, 1000}};
    refuse();
    BOOST_TEST(!contains(err, "your accounts"), err);  // there is no choice
    slurm.fair_shares.push_back({"lab", 0.75});
    refuse();
    BOOST_TEST(contains(err, "of your accounts 'lab' gives jobs the most (lab 0.75, ml 0.25)"), err);
    BOOST_TEST(contains(err, "[--account=lab]"), err);
    BOOST_TEST(!contains(err, "QOS"), err);
    settings["PriorityWeightQOS"] = "5";
    slurm.fair_shares[1].factor = 0.25;
    refuse();
    BOOST_TEST(contains(err, "your accounts give jobs the same (ml 0.25, lab 0.25)"), err);
    BOOST_TEST(contains(err, "of your QOSs 'high' gives jobs the most (high 100, normal 10)"), err);
    slurm.refused = {"fair", "accounting"};
    refuse();
    BOOST_TEST(contains(err, "hint: use --priority"), err);
}

BOOST_AUTO_TEST_CASE(an_operator_sets_the_priority_itself) {
    slurm.calls.clear();
    slurm.on_call = [this](std::string const& call) {
        if (call == "change 9 priority=4294901801") slurm.other_jobs[3].priority = 4294901801;
    };
    BOOST_TEST(run("job update 9 --priority 1 --rights operator") == 0, err);
    BOOST_TEST(changes() == "change 9 priority=4294901801;");
    BOOST_TEST(run("job update 9 --priority 1 --rights king") == to_int(ExitCode::usage));
}

BOOST_AUTO_TEST_CASE(an_order_that_slurm_does_not_reach_is_an_error) {
    obeys = false;
    BOOST_TEST(update("update 8 --ahead-of 6") == to_int(ExitCode::could_not));
    BOOST_TEST(contains(err, "Slurm did not come to job 8 ahead of job 6"), err);
    BOOST_TEST(contains(err, "done before: job 8: nice 100 -> 98"), err);
    slurm.refused = {"change"};
    BOOST_TEST(update("update 8 --ahead-of 6") == to_int(ExitCode::refused_by_slurm));
    slurm.is_down = true;
    BOOST_TEST(update("update 8 --ahead-of 6") == to_int(ExitCode::slurm_unreachable));
}

BOOST_AUTO_TEST_SUITE_END()
