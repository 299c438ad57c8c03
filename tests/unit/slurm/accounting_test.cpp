#include <det/slurm/accounting.hpp>

#include <boost/test/unit_test.hpp>

using namespace det::slurm;

namespace accounting_test {

/// As `sacctmgr --noheader --parsable2 show associations` of Slurm 22.05 prints it.
constexpr char associations[] =
    "ml|alice|||long,normal|normal|gres/gpu=4|gres/gpu=8,node=2||||\n"
    "ml|alice|debug||normal||||||2|\n"
    "root||||normal||||||||\n"
    "lab|||root|normal||gres/gpu=64|||||\n"
    "ml|||lab|normal||||gres/gpu=8|5|20|2-00:00:00\n";

}  // namespace accounting_test

BOOST_AUTO_TEST_SUITE(accounting_test)

BOOST_AUTO_TEST_CASE(associations_limits_and_the_default_account_are_read) {
    auto const accounting = parse_accounting(
        associations,
        "normal|||||||||0|00:00:00|cluster||\n"
        "long|cpu=10|gres/gpu=2|gres/gpu=1|gres/gpu=16|node=3|4|9|1-00:00:00|70|00:02:00|requeue|normal,idle|"
        "DenyOnLimit,PartitionTimeLimit\n",
        "alice|ml\n");
    BOOST_TEST(accounting.default_account == "ml");
    BOOST_REQUIRE(accounting.associations.size() == 5u);
    auto const& own = accounting.associations[0];
    BOOST_TEST(own.qos == (std::vector<std::string>{"long", "normal"}), boost::test_tools::per_element());
    BOOST_TEST(own.default_qos == "normal");
    BOOST_TEST(own.limits.group.at("gres/gpu") == 4);
    BOOST_TEST(own.limits.per_job.at("node") == 2);
    BOOST_TEST(!own.limits.submit_max);
    auto const& account = accounting.associations[4].limits;
    BOOST_TEST(account.per_node.at("gres/gpu") == 8);
    BOOST_TEST(account.jobs_max.value() == 5);
    BOOST_TEST(account.submit_max.value() == 20);
    BOOST_TEST(account.wall_max == "2-00:00:00");
    auto const* qos = accounting.find_qos("long");
    BOOST_REQUIRE(qos != nullptr);
    BOOST_TEST(qos->limits.group.at("cpu") == 10);
    BOOST_TEST(qos->limits.per_user.at("gres/gpu") == 16);
    BOOST_TEST(qos->limits.per_account.at("node") == 3);
    BOOST_TEST(qos->limits.submit_max.value() == 9);
    BOOST_TEST(qos->priority == 70);
    BOOST_TEST(qos->grace_time == "00:02:00");
    BOOST_TEST(qos->preempt_mode == "requeue");
    BOOST_TEST(qos->preempts == (std::vector<std::string>{"normal", "idle"}),
               boost::test_tools::per_element());
    BOOST_TEST(qos->has_flag("PartitionTimeLimit"));
    BOOST_TEST(!qos->has_flag("OverPartQOS"));
    BOOST_TEST(accounting.find_qos("nothing") == nullptr);
}

BOOST_AUTO_TEST_CASE(fair_shares_of_a_user_are_read) {
    // As sshare of Slurm 22.05 prints it; `parent` is a user without shares of his own.
    auto const shares = parse_fair_shares(
        "root||\n ml||\n  ml|alice|0.833333\n lab||\n  lab|alice|0.000000\n  old|alice|parent\n\n|");
    BOOST_REQUIRE(shares.size() == 2u);
    BOOST_TEST(shares[0].account == "ml");
    BOOST_TEST(shares[0].factor == 0.833333);
    BOOST_TEST(shares[1].account == "lab");
    BOOST_TEST(shares[1].factor == 0);
}

BOOST_AUTO_TEST_CASE(executions_of_jobs_are_read) {
    // As sacct of Slurm 22.05 and 24.11 prints them: requeued twice, the first time before it was accounted;
    // running; waiting.
    auto const found = parse_executions(
        "7_0|None|1764460000|2\n7_0|1764460010|1764460020|2\n7_1|1764460030|Unknown|1\n7_[2-5]|Unknown|"
        "Unknown|1\n"
        "x|1|2|3\n7|1\n8|99999999999999999|-1|x\n\n");
    BOOST_REQUIRE(found.size() == 3u);
    BOOST_TEST(!found[0].started.has_value());
    BOOST_TEST(found[0].ended.value().microseconds == 1764460000'000'000);
    BOOST_TEST((found[1].job == JobRef{7, 0}));
    BOOST_TEST(found[1].started.value().microseconds == 1764460010'000'000);
    BOOST_TEST(found[1].ended.value().microseconds == 1764460020'000'000);
    BOOST_TEST(found[1].nodes == 2u);
    BOOST_TEST((found[2].job == JobRef{7, 1}));
    BOOST_TEST(!found[2].ended.has_value());
}

BOOST_AUTO_TEST_CASE(the_association_of_the_partition_counts_before_that_of_all) {
    auto const accounting = parse_accounting(associations, "", "");
    BOOST_TEST(accounting.find("alice", "ml", "debug") == &accounting.associations[1]);
    BOOST_TEST(accounting.find("alice", "ml", "gpu") == &accounting.associations[0]);
    BOOST_TEST(accounting.find("alice", "ml", "") == &accounting.associations[0]);
    BOOST_TEST(accounting.find("alice", "lab", "") == nullptr);
    BOOST_TEST(accounting.find("bob", "ml", "") == nullptr);
}

BOOST_AUTO_TEST_CASE(accounts_above_are_found_up_to_the_root) {
    auto const accounting = parse_accounting(associations, "", "");
    auto const above = accounting.ancestors(accounting.associations[0]);
    BOOST_REQUIRE(above.size() == 3u);
    BOOST_TEST(above[0]->account == "ml");
    BOOST_TEST(above[1]->account == "lab");
    BOOST_TEST(above[2]->account == "root");
    BOOST_TEST(accounting.ancestors(accounting.associations[3]).size() == 1u);
}

BOOST_AUTO_TEST_CASE(foreign_text_does_no_harm) {
    auto const odd = parse_accounting(
        "a|b\n|||||||||||||||\nx||| x|||=,gres/gpu=,gres/gpu=-1,mem=1T,node=99999999999999999999||||||\n",
        "\n|\n", "no bar");
    BOOST_REQUIRE(odd.associations.size() == 2u);
    BOOST_TEST(odd.associations[1].limits.group.empty());
    BOOST_TEST(odd.default_account == "");
    auto loop = parse_accounting("a|||b||||||||\nb|||a||||||||\n", "", "");
    BOOST_TEST(loop.ancestors(loop.associations[0]).size() < 100u);
}

BOOST_AUTO_TEST_SUITE_END()
