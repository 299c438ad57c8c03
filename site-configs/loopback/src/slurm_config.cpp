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
        // A line for each end of a job, also if it is queued again.
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
        // A job that sbatch has queued starts at the next scheduling cycle, at most once a second.
        {"SchedulerParameters", "sched_interval=1,bf_interval=1,batch_sched_delay=1"},
        // Allows nodes with more CPUs than the machine has.
        {"SlurmdParameters", "config_overrides"},
    };
}

std::vector<ConfigLine> node_lines(ClusterOptions const& options) {
    std::vector<ConfigLine> lines;
    if (options.slots > 0) lines.push_back({"GresTypes", "gpu"});
    auto const gres = options.slots > 0 ? fmt::format(" Gres=gpu:{}", options.slots) : "";
    lines.push_back(
        {"NodeName", fmt::format("{} NodeAddr={} CPUs={} RealMemory={}{} State=UNKNOWN", node_range(options),
                                 bracketed("10.77.0.", first_address, options.nodes), options.cpus_per_node(),
                                 node_memory_mib, gres)});
    auto const common =
        fmt::format("Nodes={} MaxTime=INFINITE State=UP OverSubscribe=EXCLUSIVE", node_range(options));
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
    override_lines(lines, options.slurm_options);
    return render_lines(lines);
}

std::string render_gres_conf(ClusterOptions const& options, ClusterPaths const& paths) {
    if (options.slots == 0) return "";
    // File= names device nodes, because slurmd registers a Count= without File= as 0.
    return fmt::format("NodeName={} Name=gpu File={}\n", node_range(options),
                       bracketed((paths.dev() / "gpu").string(), 0, options.slots));
}

std::string render_cgroup_conf(ClusterPaths const& paths) {
    // Needed for linuxproc too: without this file slurmd looks for a cgroup v2 tree and exits.
    return fmt::format("CgroupPlugin=cgroup/v1\nCgroupMountpoint={}\nCgroupAutomount=no\n",
                       paths.cgroup().string());
}

std::string render_plugstack_conf(Plugin plugin, ClusterPaths const& paths) {
    if (plugin == Plugin::off) return "";
    return fmt::format("optional {} wrapper={}\n", (paths.software() / "lib" / "spank_det.so").string(),
                       (paths.software() / "bin" / "det-wrap-rank").string());
}

std::string render_hosts(int nodes) {
    auto text =
        fmt::format("127.0.0.1 localhost\n{} {} {}\n", controller_address, controller_host, login_host);
    for (int i = 0; i < nodes; ++i) text += fmt::format("{} {}\n", node_address(i), node_name(i));
    return text;
}

}  // namespace det::loopback
