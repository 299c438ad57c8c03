#include "slurm_config.hpp"

#include <det/foundation/text.hpp>

#include <algorithm>
#include <fmt/format.h>

namespace det::loopback {
namespace {

constexpr int first_address = 10;
constexpr int node_memory_mib = 4000;

/// Returns "n[0-3]", or "n0" if count is 1.
std::string bracketed(std::string const& prefix, int first, int count) {
    if (count == 1) return fmt::format("{}{}", prefix, first);
    return fmt::format("{}[{}-{}]", prefix, first, first + count - 1);
}

std::string node_range(ClusterOptions const& options) { return bracketed("n", 0, options.nodes); }

std::vector<ConfigLine> control_lines(ClusterPaths const& paths) {
    return {
        {"ClusterName", "loopback"},
        {"SlurmctldHost", fmt::format("{}({})", controller_host, controller_address)},
        {"SlurmUser", "root"},
        {"AuthType", "auth/munge"},
        {"CredType", "cred/munge"},
        {"AuthInfo", fmt::format("socket={}", paths.munge_socket().string())},
        {"SlurmctldPort", std::to_string(controller_port)},
        {"SlurmdPort", std::to_string(node_port)},
        {"SlurmctldPidFile", (paths.run() / "slurmctld.pid").string()},
        {"SlurmdPidFile", (paths.run() / "slurmd.%n.pid").string()},
        {"SlurmdSpoolDir", (paths.spool() / "%n").string()},
        {"StateSaveLocation", paths.ctld().string()},
        {"SlurmctldLogFile", (paths.log() / "slurmctld.log").string()},
        {"SlurmdLogFile", (paths.log() / "slurmd.%n.log").string()},
        // Writes a line whenever a run of a job ends, also when Slurm requeues the job.
        {"JobCompType", "jobcomp/filetxt"},
        {"JobCompLoc", (paths.log() / "jobcomp").string()},
        // Without these two lines the daemons write to the syslog of the host machine.
        {"SlurmctldSyslogDebug", "quiet"},
        {"SlurmdSyslogDebug", "quiet"},
        {"PlugStackConfig", (paths.etc() / "plugstack.conf").string()},
    };
}

std::vector<ConfigLine> behaviour_lines(Proctrack proctrack) {
    return {
        {"MpiDefault", "none"},
        {"ProctrackType", proctrack == Proctrack::cgroup ? "proctrack/cgroup" : "proctrack/linuxproc"},
        {"TaskPlugin", "task/none"},
        {"JobAcctGatherType", "jobacct_gather/none"},
        {"AccountingStorageType", "accounting_storage/none"},
        {"SelectType", "select/cons_tres"},
        {"SelectTypeParameters", "CR_CPU"},
        {"PreemptType", "preempt/partition_prio"},
        {"PreemptMode", "REQUEUE"},
        {"JobRequeue", "1"},
        {"MinJobAge", "300"},
        {"KillWait", "5"},
        {"SlurmdTimeout", "30"},
        {"ReturnToService", "2"},
        {"PropagateResourceLimits", "NONE"},
        // The default of 22.05. That of newer releases, priority/multifactor without weights, makes all jobs
        // equal.
        {"PriorityType", "priority/basic"},
        // A job that sbatch has queued starts at the next scheduling cycle: with these options, one a second.
        {"SchedulerParameters", "sched_interval=1,bf_interval=1,batch_sched_delay=1"},
        // Allows nodes with more CPUs than the machine has.
        {"SlurmdParameters", "config_overrides"},
    };
}

/// The numbers first .. first + count - 1.
struct Range {
    int first = 0;
    int count = 0;
};

/// Returns part `index` of 0 .. total - 1 divided into `parts` parts of equal size, or nearly.
Range part_of(int total, int index, int parts) {
    int const first = total * index / parts;
    return {first, total * (index + 1) / parts - first};
}

/// Some of a node's fake GPUs: of the same type, at the same socket.
struct SlotGroup {
    std::string_view type;  // empty: no type
    Range slots;
    std::optional<Range> cores;  // of the socket
};

std::vector<SlotGroup> slot_groups(ClusterOptions const& options) {
    std::vector<SlotGroup> groups;
    auto const add = [&](std::string_view type, Range slots, std::optional<Range> cores) {
        if (slots.count > 0) groups.push_back({type, slots, cores});
    };
    auto const& profile = options.profile;
    for (int i = 0; i < profile.sockets; ++i) {
        add("", part_of(options.slots, i, profile.sockets),
            part_of(options.cpus_per_node(), i, profile.sockets));
    }
    auto const type_count = static_cast<int>(profile.slot_types.size());
    for (int i = 0; i < type_count; ++i) {
        add(profile.slot_types[static_cast<std::size_t>(i)], part_of(options.slots, i, type_count),
            std::nullopt);
    }
    if (profile.sockets == 0 && type_count == 0) add("", {0, options.slots}, std::nullopt);
    return groups;
}

/// Nodes with the same GPUs.
struct NodeGroup {
    Range nodes;
    std::vector<SlotGroup> slots;
};

std::vector<NodeGroup> node_groups(ClusterOptions const& options) {
    auto const& node_kinds = options.profile.node_kinds;
    if (node_kinds.empty()) return {{{0, options.nodes}, slot_groups(options)}};
    std::vector<NodeGroup> groups;
    auto const count = static_cast<int>(node_kinds.size());
    for (int i = 0; i < count; ++i) {
        auto const& kind = node_kinds[static_cast<std::size_t>(i)];
        NodeGroup group{part_of(options.nodes, i, count), {}};
        if (auto const slots = std::min(kind.slots, options.slots); slots > 0)
            group.slots.push_back({kind.slot_type, {0, slots}, std::nullopt});
        if (group.nodes.count > 0) groups.push_back(std::move(group));
    }
    return groups;
}

std::string range_of(NodeGroup const& group) { return bracketed("n", group.nodes.first, group.nodes.count); }

/// " Gres=gpu:4" or " Gres=gpu:a100:2,gpu:t4:2"; empty if the nodes have no GPUs.
std::string gres_of(NodeGroup const& group) {
    int untyped = 0;
    std::vector<std::string> gres;
    for (auto const& slots : group.slots) {
        if (slots.type.empty()) {
            untyped += slots.slots.count;
        } else {
            gres.push_back(fmt::format("gpu:{}:{}", slots.type, slots.slots.count));
        }
    }
    if (untyped > 0) gres.push_back(fmt::format("gpu:{}", untyped));
    return gres.empty() ? "" : " Gres=" + join(gres, ",");
}

/// "CPUs=8", and the sockets if the profile has them.
std::string cpus_of_node(ClusterOptions const& options) {
    int const cpus = options.cpus_per_node(), sockets = options.profile.sockets;
    if (sockets == 0) return fmt::format("CPUs={}", cpus);
    return fmt::format("CPUs={} Sockets={} CoresPerSocket={} ThreadsPerCore=1", cpus, sockets,
                       cpus / sockets);
}

std::vector<ConfigLine> node_lines(ClusterOptions const& options) {
    std::vector<ConfigLine> lines;
    if (options.slots > 0) lines.push_back({"GresTypes", "gpu"});
    for (auto const& group : node_groups(options)) {
        lines.push_back(
            {"NodeName",
             fmt::format("{} NodeAddr={} {} RealMemory={}{} State=UNKNOWN", range_of(group),
                         bracketed("10.77.0.", first_address + group.nodes.first, group.nodes.count),
                         cpus_of_node(options), node_memory_mib, gres_of(group))});
    }
    auto const common = fmt::format("Nodes={} MaxTime=INFINITE State=UP OverSubscribe={}",
                                    node_range(options), options.profile.oversubscribe);
    lines.push_back({"PartitionName",
                     fmt::format("compute {} Default=YES PriorityTier=1 GraceTime={} PreemptMode=REQUEUE",
                                 common, options.grace_s)});
    lines.push_back({"PartitionName", fmt::format("urgent {} PriorityTier=10 PreemptMode=OFF", common)});
    return lines;
}

std::string identity(ConfigLine const& line) {
    constexpr std::string_view repeatable[] = {"nodename", "partitionname", "nodeset", "downnodes",
                                               "frontendname"};
    auto const key = to_lower(line.key);
    if (std::find(std::begin(repeatable), std::end(repeatable), key) == std::end(repeatable)) return key;
    return fmt::format("{}={}", key, split(line.value, ' ').front());
}

std::string render_lines(std::vector<ConfigLine> const& lines) {
    std::string text;
    for (auto const& line : lines) text += fmt::format("{}={}\n", line.key, line.value);
    return text;
}

}  // namespace

std::string node_address(int index) { return fmt::format("10.77.0.{}", first_address + index); }

void override_lines(std::vector<ConfigLine>& lines, std::vector<ConfigLine> const& overrides) {
    for (auto const& line : overrides) {
        auto const same = [&](ConfigLine const& other) { return identity(other) == identity(line); };
        auto const found = std::find_if(lines.begin(), lines.end(), same);
        if (found == lines.end()) {
            lines.push_back(line);
        } else {
            *found = line;
        }
    }
}

std::string render_slurm_conf(ClusterOptions const& options, Proctrack proctrack, ClusterPaths const& paths) {
    auto lines = control_lines(paths);
    for (auto const& more : {behaviour_lines(proctrack), node_lines(options)}) {
        lines.insert(lines.end(), more.begin(), more.end());
    }
    if (options.profile.accounting == Accounting::slurmdbd) {
        // Despite its name the path of munge's socket. The connection to slurmdbd does not use AuthInfo.
        lines.push_back({"AccountingStoragePass", paths.munge_socket().string()});
    }
    override_lines(lines, options.profile.slurm_options);
    override_lines(lines, options.slurm_options);
    return render_lines(lines);
}

std::string render_gres_conf(ClusterOptions const& options, ClusterPaths const& paths) {
    std::string text;
    for (auto const& nodes : node_groups(options)) {
        for (auto const& group : nodes.slots) {
            auto const type = group.type.empty() ? "" : fmt::format(" Type={}", group.type);
            auto const cores = group.cores ? fmt::format(" Cores={}-{}", group.cores->first,
                                                         group.cores->first + group.cores->count - 1)
                                           : "";
            // File= names device nodes, because slurmd registers a Count= without File= as 0.
            text += fmt::format(
                "NodeName={} Name=gpu{} File={}{}\n", range_of(nodes), type,
                bracketed((paths.dev() / "gpu").string(), group.slots.first, group.slots.count), cores);
        }
    }
    return text;
}

std::string render_cgroup_conf(SlurmVersion slurm, CgroupVersion version, SiteProfile const& profile,
                               ClusterPaths const& paths) {
    std::vector<ConfigLine> lines;
    if (version == CgroupVersion::v2) {
        // There is no systemd in a cluster that could make groups.
        lines = {{"CgroupPlugin", "cgroup/v2"}, {"IgnoreSystemd", "yes"}};
    } else {
        lines = {{"CgroupPlugin", "cgroup/v1"}, {"CgroupMountpoint", paths.cgroup().string()}};
        // Newer releases never mount a hierarchy and refuse the line.
        if (slurm < SlurmVersion{24, 5}) lines.push_back({"CgroupAutomount", "no"});
    }
    lines.insert(lines.end(), profile.cgroup_options.begin(), profile.cgroup_options.end());
    return render_lines(lines);
}

std::string render_slurmdbd_conf(ClusterPaths const& paths) {
    return render_lines({
        {"AuthType", "auth/munge"},
        {"AuthInfo", fmt::format("socket={}", paths.munge_socket().string())},
        {"SlurmUser", "root"},
        {"DbdHost", controller_host},
        {"DbdAddr", controller_address},
        {"DbdPort", std::to_string(slurmdbd_port)},
        {"StorageType", "accounting_storage/mysql"},
        {"StorageHost", "127.0.0.1"},
        {"StoragePort", std::to_string(database_port)},
        {"StorageUser", "root"},
        {"LogFile", (paths.log() / "slurmdbd.log").string()},
        {"PidFile", (paths.run() / "slurmdbd.pid").string()},
    });
}

std::string render_plugstack_conf(Plugin plugin, ClusterPaths const& paths) {
    if (plugin == Plugin::off) return "";
    return fmt::format("optional {} wrapper={}\n", (paths.software() / "lib" / "spank_det.so").string(),
                       (paths.software() / "bin" / "det-wrap-rank").string());
}

std::string render_etc_hosts(int nodes) {
    auto text =
        fmt::format("127.0.0.1 localhost\n{} {} {}\n", controller_address, controller_host, login_host);
    for (int i = 0; i < nodes; ++i) text += fmt::format("{} {}\n", node_address(i), node_name(i));
    return text;
}

}  // namespace det::loopback
