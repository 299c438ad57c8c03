#include "check_slurm_settings.hpp"

#include <det/foundation/text.hpp>

#include <algorithm>
#include <fmt/format.h>

namespace det::site {
namespace {

using slurm::ClusterConfig;

constexpr std::int64_t array_size_wanted = 1001;  // Slurm's own default

void add(Findings& found, Finding::Severity severity, std::string what, std::string why, std::string change) {
    found.push_back({severity, "Slurm", std::move(what), std::move(why), change.empty() ? "" : "slurm.conf",
                     std::move(change)});
}
constexpr auto change = Finding::Severity::change;
constexpr auto note = Finding::Severity::note;

void check_release(config::SiteFile const&, ClusterConfig const& config, Findings& found) {
    auto const version = config.find("SLURM_VERSION").value_or("");
    if (!version.empty() && version < "20.02")
        add(found, change, fmt::format("this is Slurm {}", version), "det-submit needs 20.02 or newer", "");
}

void check_preemption(config::SiteFile const&, ClusterConfig const& config, Findings& found) {
    auto const mode = config.find("PreemptMode").value_or("");
    if (mode.find("SUSPEND") != std::string::npos) {
        add(found, change, fmt::format("PreemptMode is {}", mode),
            "a suspended job keeps its GPUs and its memory", "PreemptMode=REQUEUE");
    }
    auto const accounting = config.find("AccountingStorageType").value_or("");
    bool const by_qos = config.find("PreemptType").value_or("").ends_with("/qos");
    if (by_qos && accounting.find("slurmdbd") == std::string::npos) {
        add(found, change, "PreemptType is preempt/qos, without slurmdbd", "there are no QOSs without it",
            "AccountingStorageType=accounting_storage/slurmdbd");
    }
}

void check_requeue(config::SiteFile const&, ClusterConfig const& config, Findings& found) {
    if (config.find_number("JobRequeue").value_or(1) != 0) return;
    add(found, change, "JobRequeue is 0",
        "a job whose node fails or that is preempted is requeued only if it was submitted with --requeue",
        "JobRequeue=1");
}

void check_arrays(config::SiteFile const&, ClusterConfig const& config, Findings& found) {
    auto const size = config.find_number("MaxArraySize");
    if (!size || *size >= array_size_wanted) return;
    add(found, *size < 2 ? change : note, fmt::format("MaxArraySize is {}", *size),
        fmt::format("the trials of an experiment are one job array, whose indices end at {}",
                    std::max<std::int64_t>(0, *size - 1)),
        fmt::format("MaxArraySize={}", array_size_wanted));
}

void check_select(config::SiteFile const&, ClusterConfig const& config, Findings& found) {
    auto const type = config.find("SelectType").value_or("");
    if (type.empty() || type.ends_with("cons_tres")) return;
    add(found, note, fmt::format("SelectType is {}", type),
        "select/cons_tres allocates GPUs; other plugins only count them", "SelectType=select/cons_tres");
}

void check_killing(config::SiteFile const&, ClusterConfig const& config, Findings& found) {
    auto const type = config.find("ProctrackType").value_or("");
    if (type.empty() || type.ends_with("cgroup")) return;
    add(found, note, fmt::format("ProctrackType is {}", type),
        "processes of a trial may outlive it and keep GPUs busy", "ProctrackType=proctrack/cgroup");
}

void check_order(config::SiteFile const& file, ClusterConfig const& config, Findings& found) {
    bool const is_multifactor = config.find("PriorityType").value_or("").ends_with("multifactor");
    bool const has_shares = config.find_number("PriorityWeightFairShare").value_or(0) > 0;
    if (file.scheduler == config::Scheduler::fair_share && !(is_multifactor && has_shares)) {
        add(found, change, "scheduler is fair_share, and Slurm does not weigh shares",
            "users with much past usage do not wait longer",
            "PriorityType=priority/multifactor; PriorityWeightFairshare=10000");
    }
    if (config.has_equal_priorities()) {
        add(found, note, "PriorityType is priority/multifactor, and all weights are 0",
            "every job has the same priority: slurm.nice, resources.priority and 'job update' have no effect",
            "PriorityType=priority/basic, or PriorityWeightAge=1000");
    }
    if (config.has_option("SchedulerParameters", "enable_user_top")) return;
    add(found, note, "SchedulerParameters has no enable_user_top",
        "users can't put a job before their other jobs with 'scontrol top'",
        "SchedulerParameters=...,enable_user_top");
}

void check_projects(config::SiteFile const& file, ClusterConfig const& config, Findings& found) {
    if (!file.job_project_source || config.find("TrackWCKey").value_or("yes") != "No") return;
    add(found, change, "job_project_source is set, and TrackWCKey is no",
        "accounting does not count by project", "TrackWCKey=yes");
}

constexpr void (*checks[])(config::SiteFile const&, ClusterConfig const&, Findings&) = {
    check_release, check_preemption, check_requeue, check_arrays,
    check_select,  check_killing,    check_order,   check_projects,
};

constexpr char plugin_line[] = "optional /opt/det/lib/slurm/spank_det.so wrapper=/opt/det/bin/det-wrap-rank";

}  // namespace

std::int64_t grace_time_wanted_s(config::PoolEntry const* entry) {
    constexpr std::int64_t usual_s = 30;
    return entry != nullptr ? entry->grace_time_s.value_or(usual_s) : usual_s;
}

bool has_default_memory(ClusterConfig const& config) {
    for (auto const* key : {"DefMemPerNode", "DefMemPerCPU"}) {
        auto const value = config.find(key).value_or("UNLIMITED");
        if (value != "UNLIMITED" && !value.empty()) return true;
    }
    return false;
}

void check_slurm_settings(config::SiteFile const& file, ClusterConfig const& config, Findings& found) {
    for (auto const check : checks) check(file, config, found);
}

void check_plugin(PluginFacts const& plugin, ClusterConfig const& config, Findings& found) {
    auto const add = [&](Finding::Severity severity, std::string what, std::string why, std::string line) {
        auto const file = line.empty() ? "" : plugin.plugstack.empty() ? "plugstack.conf" : plugin.plugstack;
        found.push_back({severity, "the plugin", std::move(what), std::move(why), file, std::move(line)});
    };
    if (!plugin.why_unknown.empty()) {
        return add(note, fmt::format("plugstack.conf can't be read here: {}", plugin.why_unknown),
                   "jobs run without the plugin", "");
    }
    if (!plugin.line) {
        return add(note, "plugstack.conf names no spank_det.so",
                   "the plugin is optional; it sets the rank variables in any sbatch script", plugin_line);
    }
    auto const& path = plugin.line->path;
    auto const running = release_of(config.find("SLURM_VERSION").value_or(""));
    if (!plugin.is_object_there) {
        add(note, fmt::format("'{}' can't be read here", path),
            "if it is not on the nodes either, slurmd logs an error for every step", "");
    } else if (!plugin.built_for) {
        add(note, fmt::format("'{}' does not say which Slurm it was built for", path),
            "Slurm does not load a plugin of another release", "");
    } else if (auto const built = release_of(*plugin.built_for); built != running && !running.empty()) {
        add(change, fmt::format("'{}' was built for Slurm {}, this is {}", path, built, running),
            "Slurm does not load a plugin of another release",
            fmt::format("build it against the headers of {}, and install it at {}", running, path));
    }
    if (plugin.line->kind == "required") {
        add(change, "the plugin is 'required'", "a plugin that does not load would stop all jobs",
            fmt::format("optional {} {}", path, join(plugin.line->arguments, " ")));
    }
    auto const wrapper = plugin.line->find_argument("wrapper");
    if (!wrapper) {
        add(change, "the plugin's line names no wrapper", "without it nothing labels what ranks print",
            fmt::format("{} {} wrapper=/opt/det/bin/det-wrap-rank", plugin.line->kind, path));
    } else if (!plugin.is_wrapper_there) {
        add(note, fmt::format("the wrapper '{}' is not there", *wrapper), "it has to be on every node", "");
    }
}

}  // namespace det::site
