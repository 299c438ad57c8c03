// Mistakes that administrators make, each with a name. `site check` and `site try` report every one, and what
// to change.
#include <det/site/accounting_limits.hpp>
#include <det/site/check.hpp>
#include <det/site/judge_preflight.hpp>

#include <boost/test/unit_test.hpp>
#include <functional>
#include <set>

#include "site_support.hpp"

using namespace det;
using namespace det::site;

namespace misconfigurations_test {

/// Everything that `site check` and `site try` examine.
struct Cluster {
    std::string site_file;
    std::vector<slurm::Partition> partitions = two_partitions();
    slurm::ClusterConfig::Settings settings = {{"SLURM_VERSION", "22.05.8"},
                                               {"PreemptType", "preempt/partition_prio"},
                                               {"PreemptMode", "REQUEUE"},
                                               {"JobRequeue", "1"},
                                               {"MaxArraySize", "1001"},
                                               {"SelectType", "select/cons_tres"},
                                               {"SelectTypeParameters", "CR_CPU_MEMORY"},
                                               {"ProctrackType", "proctrack/cgroup"},
                                               {"ConstrainDevices", "yes"},
                                               {"SchedulerParameters", "enable_user_top"},
                                               {"AccountingStorageType", "accounting_storage/slurmdbd"},
                                               {"AccountingStorageEnforce", "associations,limits,qos"}};
    PluginFacts plugin;
    slurm::Accounting accounting;
    PreflightFacts node;
    PreflightPool tried{"compute", 2, true, "apptainer", "/det/checkpoints"};

    Cluster() {
        plugin.plugstack = "/etc/slurm/plugstack.conf";
        plugin.line = PlugstackLine{
            "optional", "/opt/det/lib/slurm/spank_det.so", {"wrapper=/opt/det/bin/det-wrap-rank"}};
        plugin.is_object_there = plugin.is_wrapper_there = true;
        plugin.built_for = 0x160500;
        accounting.default_account = "ml";
        accounting.associations = {{"ml", "alice", "", "", {"normal"}, "normal", {}},
                                   {"ml", "", "", "root", {}, "", {}}};
        accounting.qos = {{"normal", {}}, {"urgent", {}}};
        node.node = "n0";
        node.is_directory_same = true;
        node.program = "100-00000000";
        node.path = "/usr/bin:/bin";
        node.limits = {{"memlock_bytes", -1}, {"open_files", 65'536}, {"address_space_bytes", -1}};
        node.interfaces = "hsn0";
        node.bytes_per_s = 1e9;
        node.gpus_allocated = node.gpus_visible = 1;
        node.storage = StorageFacts{"", 1e9, std::uint64_t{1} << 40};
    }

    std::vector<Finding> check() const {
        slurm::ClusterConfig const config(settings);
        auto const file = file_of(site_file);
        auto found = check_site(file, partitions, config, plugin);
        auto const add = [&](std::vector<Finding> const& more) {
            found.insert(found.end(), more.begin(), more.end());
        };
        add(check_accounting(make_site(partitions, file), config, accounting, "alice"));
        add(judge_preflight(tried, {"/det", "100-00000000", 0}, {node}));
        return found;
    }
};

struct Mistake {
    std::string name;
    std::string where;  // the file that the finding names, as a beginning
    std::function<void(Cluster&)> make;
};

std::vector<Mistake> mistakes() {
    return {
        {"the site file names a partition that does not exist", "site.yaml",
         [](Cluster& c) { c.site_file = "pools: [{name: a, partition: computer}]\n"; }},
        {"the default pool does not exist", "site.yaml",
         [](Cluster& c) { c.site_file = "default_compute_pool: gpus\n"; }},
        {"a partition has no nodes", "slurm.conf",
         [](Cluster& c) {
             c.partitions[0].nodes.clear();
             c.site_file = "pools: [{name: compute}]\n";
         }},
        {"no node has the constraint of a pool", "site.yaml",
         [](Cluster& c) { c.site_file = "pools: [{name: compute, constraint: nvlink}]\n"; }},
        {"a pool has more slots per node than its nodes have GPUs", "site.yaml",
         [](Cluster& c) { c.site_file = "pools: [{name: compute, slots_per_node: 8}]\n"; }},
        {"Slurm does not know the GPUs", "slurm.conf and gres.conf",
         [](Cluster& c) { c.site_file = "pools: [{name: cpu, slot_type: cuda, slots_per_node: 4}]\n"; }},
        {"the time limit of a pool is above MaxTime", "site.yaml",
         [](Cluster& c) {
             c.partitions[0].time_max = "1-00:00:00";
             c.site_file = "pools: [{name: compute, limits: {time: 2-00:00:00}}]\n";
         }},
        {"a partition suspends the jobs that it preempts", "slurm.conf",
         [](Cluster& c) { c.partitions[0].preempt_mode = "GANG,SUSPEND"; }},
        {"the cluster suspends the jobs that it preempts", "slurm.conf",
         [](Cluster& c) { c.settings["PreemptMode"] = "GANG,SUSPEND"; }},
        {"GraceTime is too short for a checkpoint", "slurm.conf",
         [](Cluster& c) { c.partitions[0].grace_time = std::chrono::seconds(5); }},
        {"OverSubscribe=FORCE takes whole nodes away", "slurm.conf",
         [](Cluster& c) { c.partitions[0].oversubscribe = "FORCE:4"; }},
        {"a shared pool lies on a partition of whole nodes", "slurm.conf",
         [](Cluster& c) {
             c.partitions[0].oversubscribe = "EXCLUSIVE";
             c.site_file = "pools: [{name: compute, exclusive: false}]\n";
         }},
        {"jobs that share a node see each other's GPUs", "cgroup.conf",
         [](Cluster& c) {
             c.settings["ConstrainDevices"] = "no";
             c.site_file = "pools: [{name: compute, exclusive: false}]\n";
         }},
        {"a job that asks for no memory gets all of it", "slurm.conf",
         [](Cluster& c) { c.site_file = "pools: [{name: compute, whole_memory: false}]\n"; }},
        {"jobs are not requeued", "slurm.conf", [](Cluster& c) { c.settings["JobRequeue"] = "0"; }},
        {"there are no job arrays", "slurm.conf", [](Cluster& c) { c.settings["MaxArraySize"] = "1"; }},
        {"preemption by QOS without slurmdbd", "slurm.conf",
         [](Cluster& c) {
             c.settings["PreemptType"] = "preempt/qos";
             c.settings["AccountingStorageType"] = "accounting_storage/none";
         }},
        {"fair share is promised and not weighed", "slurm.conf",
         [](Cluster& c) { c.site_file = "scheduler: fair_share\n"; }},
        {"projects are set and not counted", "slurm.conf",
         [](Cluster& c) {
             c.site_file = "job_project_source: project\n";
             c.settings["TrackWCKey"] = "No";
         }},
        {"the plugin is built for another release", "/etc/slurm/plugstack.conf",
         [](Cluster& c) { c.plugin.built_for = 0x180b00; }},
        {"a plugin that does not load would stop all jobs", "/etc/slurm/plugstack.conf",
         [](Cluster& c) { c.plugin.line->kind = "required"; }},
        {"the plugin has no wrapper", "/etc/slurm/plugstack.conf",
         [](Cluster& c) { c.plugin.line->arguments.clear(); }},
        {"the user has no account", "sacctmgr",
         [](Cluster& c) { c.accounting.associations.erase(c.accounting.associations.begin()); }},
        {"the user may not use the QOS of a pool", "sacctmgr",
         [](Cluster& c) { c.site_file = "pools: [{name: compute, qos: urgent}]\n"; }},
        {"the root is not on a shared file system", "the environment",
         [](Cluster& c) { c.node.is_directory_same = false; }},
        {"a node has another version of det-submit", "the installation",
         [](Cluster& c) { c.node.program = "99-ffffffff"; }},
        {"a node has no Slurm commands", "the installation",
         [](Cluster& c) { c.node.missing_programs = {"scontrol"}; }},
        {"the clock of a node is wrong", "the node", [](Cluster& c) { c.node.clock_offset_us = 60'000'000; }},
        {"jobs may open few files", "the unit of slurmd",
         [](Cluster& c) { c.node.limits["open_files"] = 1024; }},
        {"the address space of jobs is limited", "slurm.conf",
         [](Cluster& c) { c.node.limits["address_space_bytes"] = std::int64_t{1} << 34; }},
        {"nodes do not find each other by name", "/etc/hosts or DNS",
         [](Cluster& c) { c.node.unresolved = {"n1"}; }},
        {"a firewall is between the nodes", "the firewall",
         [](Cluster& c) { c.node.bytes_per_s = std::nullopt; }},
        {"gres.conf names other devices", "gres.conf", [](Cluster& c) { c.node.gpus_visible = 0; }},
        {"the container runtime is not installed", "site.yaml",
         [](Cluster& c) { c.node.runtime_error = "not found"; }},
        {"checkpoints can't be written", "the configuration",
         [](Cluster& c) {
             c.node.storage = StorageFacts{"Read-only file system", 0, 0};
         }},
    };
}

std::vector<Finding> changes(std::vector<Finding> const& findings) {
    std::vector<Finding> wanted;
    for (auto const& each : findings) {
        if (each.severity == Finding::Severity::change) wanted.push_back(each);
    }
    return wanted;
}

}  // namespace misconfigurations_test

BOOST_AUTO_TEST_SUITE(misconfigurations_test)

BOOST_AUTO_TEST_CASE(a_good_cluster_has_nothing_to_change) {
    for (auto const& each : changes(Cluster().check())) BOOST_ERROR(each.subject << ": " << each.what);
}

BOOST_AUTO_TEST_CASE(each_mistake_is_found_with_what_to_do) {
    BOOST_TEST(mistakes().size() >= 20u);
    std::set<std::string> said;
    for (auto const& mistake : mistakes()) {
        BOOST_TEST_CONTEXT(mistake.name) {
            Cluster cluster;
            mistake.make(cluster);
            auto const found = changes(cluster.check());
            BOOST_REQUIRE(!found.empty());
            bool const names_file = std::ranges::any_of(
                found, [&](auto const& each) { return each.file == mistake.where && !each.change.empty(); });
            BOOST_TEST(names_file, found[0].file << ": " << found[0].what);
            for (auto const& each : found) BOOST_TEST(!each.why.empty());
            BOOST_TEST(said.insert(found[0].subject + found[0].what).second,
                       "said of another mistake: " << found[0].what);
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
