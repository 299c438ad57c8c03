// What the limits of accounts and QOSs mean for trials.
#include <det/site/accounting_limits.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include "golden.hpp"

using namespace det;
using namespace det::site;

namespace accounting_limits_test {

/// User alice in account ml below lab.
slurm::Accounting accounting() {
    slurm::Accounting accounting;
    accounting.default_account = "ml";
    slurm::Association alice{"ml", "alice", "", "", {"normal", "long"}, "normal", {}};
    slurm::Association ml{"ml", "", "", "lab", {}, "", {}};
    slurm::Association lab{"lab", "", "", "root", {}, "", {}};
    slurm::Association root{"root", "", "", "", {}, "", {}};
    accounting.associations = {alice, ml, lab, root};
    accounting.qos = {{"normal", {}}, {"long", {}}};
    return accounting;
}

std::string exceeded(slurm::Accounting const& accounting, JobSize const& size,
                     JobOwner owner = {"alice", "", "gpu", ""}) {
    std::string text;
    for (auto const& each : find_exceeded_limits(accounting, owner, size))
        text += fmt::format("{}: {} < {}\n", each.whose, each.name, each.asked);
    return text;
}

slurm::ClusterConfig enforcing(char const* what) {
    return slurm::ClusterConfig(slurm::ClusterConfig::Settings{{"AccountingStorageEnforce", what}});
}

Pool gpu_pool(std::string name, int nodes) {
    Pool pool;
    pool.name = pool.partition = std::move(name);
    pool.slot_type = SlotType::cuda;
    pool.slots_per_node = 8;
    pool.node_count = nodes;
    return pool;
}

std::string text_of(std::vector<Finding> const& findings) {
    std::string text;
    for (auto const& each : findings)
        text += fmt::format("{} {}: {}\n  {}\n  {}: {}\n",
                            each.severity == Finding::Severity::change ? "change" : "note", each.subject,
                            each.what, each.why, each.file, each.change);
    return text;
}

}  // namespace accounting_limits_test

BOOST_AUTO_TEST_SUITE(accounting_limits_test)

BOOST_AUTO_TEST_CASE(a_job_at_the_limit_is_admitted_and_one_above_is_not) {
    auto limited = accounting();
    limited.associations[0].limits.per_job["gres/gpu"] = 16;
    BOOST_TEST(exceeded(limited, {2, 8}) == "");
    BOOST_TEST(exceeded(limited, {3, 8}) == "user 'alice' in account 'ml': MaxTRES=gres/gpu=16 < 24\n");
    BOOST_TEST(exceeded(limited, {3, 0}) == "");
}

BOOST_AUTO_TEST_CASE(limits_of_groups_count_at_every_account_above) {
    auto limited = accounting();
    limited.associations[1].limits.group["gres/gpu"] = 32;
    limited.associations[2].limits.group["node"] = 3;
    BOOST_TEST(exceeded(limited, {3, 8}) == "");
    BOOST_TEST(exceeded(limited, {5, 8}) ==
               "account 'ml': GrpTRES=gres/gpu=32 < 40\naccount 'lab': GrpTRES=node=3 < 5\n");
}

BOOST_AUTO_TEST_CASE(a_limit_of_the_qos_replaces_that_of_the_association) {
    auto limited = accounting();
    limited.associations[0].limits.per_job["gres/gpu"] = 8;
    limited.associations[0].limits.group["gres/gpu"] = 8;
    limited.qos[1].limits.per_job["gres/gpu"] = 64;
    limited.qos[1].limits.group["gres/gpu"] = 64;
    limited.qos[1].limits.per_user["gres/gpu"] = 24;
    limited.qos[1].limits.per_account["node"] = 3;
    BOOST_TEST(exceeded(limited, {2, 8}, {"alice", "", "gpu", "long"}) == "");
    BOOST_TEST(exceeded(limited, {4, 8}, {"alice", "ml", "gpu", "long"}) ==
               "QOS 'long': MaxTRESPerUser=gres/gpu=24 < 32\nQOS 'long': MaxTRESPerAccount=node=3 < 4\n");
    BOOST_TEST(exceeded(limited, {2, 8}) != "");
}

BOOST_AUTO_TEST_CASE(limits_per_node_and_of_a_type_of_gpu_are_compared) {
    auto limited = accounting();
    limited.associations[0].limits.per_node["gres/gpu"] = 4;
    limited.associations[0].limits.per_job["gres/gpu:a100"] = 8;
    BOOST_TEST(exceeded(limited, {2, 4}) == "");
    BOOST_TEST(exceeded(limited, {2, 4, "a100"}) == "");
    BOOST_TEST(exceeded(limited, {3, 4, "a100"}) ==
               "user 'alice' in account 'ml': MaxTRES=gres/gpu:a100=8 < 12\n");
    BOOST_TEST(exceeded(limited, {3, 4, "h100"}) == "");
    BOOST_TEST(exceeded(limited, {1, 8}) == "user 'alice' in account 'ml': MaxTRESPerNode=gres/gpu=4 < 8\n");
}

BOOST_AUTO_TEST_CASE(without_an_association_or_enforcement_nothing_is_exceeded) {
    auto limited = accounting();
    limited.associations[0].limits.per_job["gres/gpu"] = 1;
    BOOST_TEST(exceeded(limited, {1, 8}, {"bob", "", "gpu", ""}) == "");
    for (auto const* none : {"", "none", "associations", "associations,qos"})
        BOOST_TEST(!enforces_limits(enforcing(none)), none);
    for (auto const* some : {"associations,limits", "limits,qos,safe", "safe", "all"})
        BOOST_TEST(enforces_limits(enforcing(some)), some);
    BOOST_TEST(!enforces_limits(slurm::ClusterConfig()));
}

BOOST_AUTO_TEST_CASE(pools_are_checked_against_associations_qos_and_limits) {
    auto limited = accounting();
    limited.associations[0].limits.submit_max = 20;
    limited.associations[0].limits.wall_max = "2-00:00:00";
    limited.associations[1].limits.group["gres/gpu"] = 16;
    limited.qos[0].limits.jobs_max = 4;
    Site site;
    site.pools = {gpu_pool("gpu", 4), gpu_pool("small", 2), gpu_pool("fast", 1), gpu_pool("theirs", 1)};
    site.pools[2].qos = "urgent";
    site.pools[3].account = "theirs";
    limited.qos.push_back({"tiny", {}});
    limited.qos.back().limits.per_user["gres/gpu"] = 4;
    limited.associations[0].qos.push_back("tiny");
    auto tiny = gpu_pool("tiny", 1);
    tiny.qos = "tiny";
    site.pools.push_back(tiny);
    check_golden("site/accounting.txt",
                 text_of(check_accounting(site, enforcing("associations,limits,qos"), limited, "alice")));
    auto const text = text_of(check_accounting(site, enforcing("associations,qos"), limited, "alice"));
    BOOST_TEST(text.find("MaxSubmitJobs") == std::string::npos);
    BOOST_TEST(text.find("has no association with account 'theirs'") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
