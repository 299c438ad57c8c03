// How long jobs may run and how they are preempted, as QOSs and associations say.
#include <det/site/accounting_limits.hpp>

#include <boost/test/unit_test.hpp>

using namespace det;
using namespace det::site;

namespace job_rules_test {

/// User alice, whose default QOS is preempted by `high` and may not run longer than a day.
JobAccounting accounting(std::string const& preempt_type = "preempt/qos") {
    auto accounting = job_accounting_of(slurm::parse_cluster_config(
        "PreemptType = " + preempt_type +
        "\nPreemptMode = REQUEUE\nKillWait = 40 sec\nAccountingStorageEnforce = associations,limits,qos\n"));
    accounting.user = "alice";
    accounting.rows =
        slurm::parse_accounting("ml|alice|||normal,high,short|normal||||||3-00:00:00\n",
                                "normal||||||||1-00:00:00|0|00:02:00|cluster||\n"
                                "short||||||||01:00:00|0|00:00:00|cancel||OverPartQOS\n"
                                "open|||||||||0|00:01:00|cluster||\n"
                                "long||||||||7-00:00:00|0|00:00:00|cluster||PartitionTimeLimit\n"
                                "high|||||||||0|00:01:00|cluster|normal,short,long|\n",
                                "alice|ml\n");
    return accounting;
}

Pool pool_of(std::string const& partition_qos = "") {
    Pool pool;
    pool.name = pool.partition = "gpu";
    pool.partition_time_max = "2-00:00:00";
    pool.partition_qos = partition_qos;
    pool.preempt_mode = "REQUEUE";
    pool.grace_time = std::chrono::seconds(300);
    return pool;
}

}  // namespace job_rules_test
using namespace job_rules_test;

BOOST_AUTO_TEST_SUITE(job_rules_test)

BOOST_AUTO_TEST_CASE(the_qos_says_how_long_a_preempted_job_has) {
    auto const of_default = find_job_rules(accounting(), pool_of());
    BOOST_TEST(of_default.qos == "normal");
    BOOST_TEST(of_default.preempt_mode == "REQUEUE");
    BOOST_TEST(of_default.notice_s.value() == 120u);
    auto const of_short = find_job_rules(accounting(), pool_of(), {.account = "", .qos = "short"});
    BOOST_TEST(of_short.preempt_mode == "CANCEL");
    BOOST_TEST(of_short.notice_s.value() == 40u);  // KillWait
    auto const of_high = find_job_rules(accounting(), pool_of(), {.account = "", .qos = "high"});
    BOOST_TEST(of_high.preempt_mode == "OFF");
    BOOST_TEST(!of_high.notice_s);
    auto const by_partition = find_job_rules(accounting("preempt/partition_prio"), pool_of());
    BOOST_TEST(by_partition.preempt_mode == "");
    BOOST_TEST(!by_partition.notice_s);
    BOOST_TEST(by_partition.time_max == "1-00:00:00");
}

BOOST_AUTO_TEST_CASE(the_first_limit_counts_that_of_the_partitions_qos_the_jobs_and_the_association) {
    auto const rules = [](std::string const& partition_qos, std::string const& qos) {
        auto const found = find_job_rules(accounting(), pool_of(partition_qos), {.account = "", .qos = qos});
        return found.time_owner + " " + found.time_max;
    };
    BOOST_TEST(rules("", "") == "QOS 'normal' 1-00:00:00");
    BOOST_TEST(rules("", "high") == "user 'alice' in account 'ml' 3-00:00:00");
    BOOST_TEST(rules("long", "normal") == "QOS 'long' 7-00:00:00");
    BOOST_TEST(rules("open", "normal") == "QOS 'normal' 1-00:00:00");
    BOOST_TEST(rules("long", "short") == "QOS 'short' 01:00:00");
    auto unlimited = accounting();
    unlimited.enforces_limits = false;
    BOOST_TEST(find_job_rules(unlimited, pool_of()).time_max == "");
}

BOOST_AUTO_TEST_CASE(what_a_job_asks_for_precedes_its_pool_and_the_pool_the_environment) {
    auto known = accounting();
    known.of_environment = {"", "short"};
    auto pool = pool_of();
    BOOST_TEST(find_job_rules(known, pool).qos == "short");
    pool.qos = "high";
    BOOST_TEST(find_job_rules(known, pool).qos == "high");
    BOOST_TEST(find_job_rules(known, pool, {.account = "", .qos = "normal"}).qos == "normal");
    BOOST_TEST(find_job_rules(known, pool, {.account = "theirs", .qos = ""}).qos == "");
}

BOOST_AUTO_TEST_CASE(the_longest_time_is_that_of_the_partition_unless_the_qos_replaces_it) {
    auto pool = pool_of();
    BOOST_TEST(time_max_s(pool).value() == 172800);
    pool.rules = find_job_rules(accounting(), pool);
    BOOST_TEST(time_max_s(pool).value() == 86400);
    pool.rules = find_job_rules(accounting(), pool, {.account = "", .qos = "long"});
    BOOST_TEST(time_max_s(pool).value() == 604800);
    pool.partition_time_max = "UNLIMITED";
    pool.rules = {};
    BOOST_TEST(!time_max_s(pool));
}

BOOST_AUTO_TEST_CASE(a_qos_whose_jobs_have_too_little_time_to_save_is_found) {
    Site site;
    site.pools = {pool_of()};
    site.entries = {{}};
    site.entries[0].name = "gpu";
    site.entries[0].grace_time_s = 300;
    auto const known = accounting();
    auto const config = slurm::parse_cluster_config("PreemptType = preempt/qos\nPreemptMode = REQUEUE\n");
    auto const found = check_accounting(site, config, known.rows, "alice");
    BOOST_REQUIRE(found.size() == 1u);
    BOOST_TEST(found[0].what == "GraceTime of its QOS 'normal' is 120 s, trials here need 300 s");
    BOOST_TEST(found[0].change == "sacctmgr modify qos normal set GraceTime=300");
    site.entries[0].grace_time_s = 120;
    BOOST_TEST(check_accounting(site, config, known.rows, "alice").empty());
}

BOOST_AUTO_TEST_SUITE_END()
