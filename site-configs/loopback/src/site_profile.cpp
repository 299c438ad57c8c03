#include "site_profile.hpp"

#include <algorithm>

namespace det::loopback {
namespace {

/// Limits of users are kept in a database. researcher has one account, colleague has none.
SiteProfile accounting_profile() {
    return {.name = "accounting",
            .slurm_options = {{"AccountingStorageType", "accounting_storage/slurmdbd"},
                              {"AccountingStorageHost", "ctl"},
                              {"AccountingStorageEnforce", "limits,qos"},
                              {"AccountingStorageTRES", "gres/gpu"}},
            .accounting = Accounting::slurmdbd,
            .programs = {{"mariadbd", "mariadb-server"},
                         {"mariadb-install-db", "mariadb-server"},
                         {"slurmdbd", "slurmdbd"}},
            .setup = {{"sacctmgr", "--immediate", "add", "account", "lab"},
                      {"sacctmgr", "--immediate", "add", "user", "researcher", "account=lab"},
                      {"sacctmgr", "--immediate", "modify", "qos", "normal", "set",
                       "MaxTRESPerUser=gres/gpu=8", "MaxSubmitJobsPerUser=10"}}};
}

/// Profile accounting with nodes of three kinds, and fair share.
SiteProfile mixed_nodes_profile() {
    auto profile = accounting_profile();
    profile.name = "mixed-nodes";
    profile.node_kinds = {{"a100", 8}, {"v100", 4}, {"", 0}};
    profile.slurm_options.insert(profile.slurm_options.end(), {{"SelectTypeParameters", "CR_Core_Memory"},
                                                               {"PriorityType", "priority/multifactor"},
                                                               {"PriorityWeightFairshare", "100000"},
                                                               {"TrackWCKey", "yes"}});
    return profile;
}

/// Profile accounting where a QOS preempts, in place of a partition: urgent preempts normal.
SiteProfile preempt_qos_profile() {
    auto profile = accounting_profile();
    profile.name = "preempt-qos";
    profile.slurm_options.push_back({"PreemptType", "preempt/qos"});
    profile.setup = {
        {"sacctmgr", "--immediate", "add", "account", "lab"},
        {"sacctmgr", "--immediate", "add", "user", "researcher", "account=lab"},
        {"sacctmgr", "--immediate", "modify", "qos", "normal", "set", "PreemptMode=requeue", "GraceTime=60"},
        {"sacctmgr", "--immediate", "add", "qos", "urgent", "Preempt=normal"},
        {"sacctmgr", "--immediate", "modify", "user", "researcher", "set", "qos+=urgent"}};
    return profile;
}

}  // namespace

std::vector<SiteProfile> const& profiles() {
    static std::vector<SiteProfile> const all{
        {.name = "plain"},
        // Memory is a resource: a job gets 256 MiB for each CPU unless it asks, and never a whole node's
        // memory.
        {.name = "memory",
         .slurm_options = {{"SelectTypeParameters", "CR_Core_Memory"},
                           {"DefMemPerCPU", "256"},
                           {"MaxMemPerNode", "3000"}}},
        // Jobs share nodes, and a node has GPUs of two types.
        {.name = "shared",
         .slurm_options = {{"SelectTypeParameters", "CR_Core_Memory"}, {"DefMemPerCPU", "256"}},
         .slot_types = {"a100", "t4"},
         .oversubscribe = "YES"},
        // A node has two sockets, and Slurm binds ranks to cores.
        {.name = "two-sockets",
         .slurm_options = {{"SelectTypeParameters", "CR_Core"}, {"TaskPlugin", "task/affinity"}},
         .sockets = 2},
        // Users see their own jobs only, and a job needs an account and a time limit.
        {.name = "strict",
         .slurm_options = {{"PrivateData", "jobs,nodes,usage"},
                           {"JobSubmitPlugins", "lua"},
                           {"PropagateResourceLimits", "ALL"},
                           {"JobRequeue", "0"},
                           {"EnforcePartLimits", "ALL"},
                           {"SlurmctldParameters", "rl_enable"}},
         .files = {"job_submit.lua"},
         .user_variables = {{"SBATCH_ACCOUNT", "lab"},
                            {"SBATCH_TIMELIMIT", "60"},
                            {"SLURM_ACCOUNT", "lab"},
                            {"SLURM_TIMELIMIT", "60"}}},
        // A job has its own cores, memory and GPUs only, and what ssh starts would belong to it.
        {.name = "cgroup",
         .slurm_options = {{"SelectTypeParameters", "CR_Core_Memory"},
                           {"DefMemPerCPU", "256"},
                           {"TaskPlugin", "task/cgroup,task/affinity"},
                           {"JobAcctGatherType", "jobacct_gather/cgroup"},
                           {"PrologFlags", "Contain"}},
         .cgroup_options = {{"ConstrainCores", "yes"},
                            {"ConstrainRAMSpace", "yes"},
                            {"ConstrainDevices", "yes"}}},
        // Each node is at a switch of its own, and both switches are at one.
        {.name = "topology",
         .slurm_options = {{"TopologyPlugin", "topology/tree"}},
         .files = {"topology.conf"}},
        // Jobs run in images: apptainer is on the nodes. Of Debian's releases sid has it, so this is
        // for 26.05.
        {.name = "apptainer", .programs = {{"apptainer", "apptainer"}}},
        // The Python of the release has its torch.
        {.name = "torch", .programs = {{"torchrun", "python3-torch"}}},
        // With Hugging Face's transformers too. Of Debian's releases sid has them, so this is for 26.05.
        {.name = "transformers",
         .programs = {{"torchrun", "python3-torch"},
                      {"transformers", "python3-transformers"},
                      {"accelerate", "python3-accelerate"}}},
        accounting_profile(),
        preempt_qos_profile(),
        mixed_nodes_profile(),
    };
    return all;
}

std::optional<SiteProfile> find_profile(std::string_view name) {
    auto const found = std::ranges::find(profiles(), name, &SiteProfile::name);
    if (found == profiles().end()) return std::nullopt;
    return *found;
}

SiteProfile const& plain_profile() { return profiles().front(); }

}  // namespace det::loopback
