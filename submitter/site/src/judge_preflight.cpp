#include <det/foundation/count_text.hpp>
#include <det/foundation/text.hpp>
#include <det/site/judge_preflight.hpp>

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace det::site {
namespace {

constexpr double clock_difference_max_us = 2e6;
constexpr std::int64_t open_files_wanted = 4096;
constexpr std::int64_t locked_memory_wanted_bytes = std::int64_t{1} << 30;
constexpr double slow_network_bytes_per_s = 1.0e9 / 8;  // 1 Gbit/s
constexpr double slow_storage_bytes_per_s = 50e6;
constexpr std::uint64_t little_space_bytes = std::uint64_t{10} << 30;

/// Converts a number that a node has reported and that may be out of range.
std::size_t whole_bytes(double bytes) {
    return bytes > 0 ? static_cast<std::size_t>(std::min(bytes, 1e18)) : 0;
}

/// The findings about one node.
class NodeJudge {
public:
    NodeJudge(PreflightPool const& pool, LoginFacts const& login, PreflightFacts const& node,
              std::vector<Finding>& found)
        : pool_(pool), login_(login), node_(node), found_(found) {}

    void judge() {
        judge_files();
        judge_clock();
        judge_limits();
        judge_names();
        judge_gpus();
        judge_binding();
        judge_runtime();
        judge_storage();
        judge_network();
    }

private:
    void add(Finding::Severity severity, std::string what, std::string why, std::string file,
             std::string remedy) {
        found_.push_back({severity, fmt::format("pool '{}', node '{}'", pool_.name, node_.node),
                          std::move(what), std::move(why), std::move(file), std::move(remedy)});
    }
    void must_change(std::string what, std::string why, std::string file, std::string remedy) {
        add(Finding::Severity::change, std::move(what), std::move(why), std::move(file), std::move(remedy));
    }
    void should_know(std::string what, std::string why, std::string file, std::string remedy) {
        add(Finding::Severity::note, std::move(what), std::move(why), std::move(file), std::move(remedy));
    }

    void judge_files() {
        if (!node_.is_directory_same)
            must_change(fmt::format("'{}' is not the same directory there", login_.root),
                        "trials read their files from it", "the environment",
                        "DET_ROOT on a file system that all nodes mount");
        if (node_.program != login_.program)
            must_change("det-launch there differs from the one here",
                        "jobs run the programs of the node: different versions may not understand each other",
                        "the installation", "the same version in the same place on all nodes");
        for (auto const& program : node_.missing_programs)
            must_change(fmt::format("'{}' is missing there", program), "jobs start it", "the installation",
                        fmt::format("'{}' in the PATH of jobs, which is {}", program, node_.path));
    }

    void judge_clock() {
        // Computes in double precision, because a difference of integers that a node has reported may
        // overflow.
        auto const difference_us =
            static_cast<double>(node_.clock_offset_us) - static_cast<double>(login_.clock_offset_us);
        if (std::fabs(difference_us) <= clock_difference_max_us) return;
        must_change(fmt::format("its clock differs by {:.1f} s", difference_us / 1e6),
                    "logs of several nodes are ordered by time, and time limits are compared with it",
                    "the node", "chrony or ntpd");
    }

    std::optional<std::int64_t> limit(char const* name) const {
        auto const found = node_.limits.find(name);
        if (found == node_.limits.end() || found->second < 0) return std::nullopt;
        return found->second;
    }

    void judge_limits() {
        if (auto const files = limit("open_files"); files && *files < open_files_wanted)
            must_change(fmt::format("at most {} files can be open", *files),
                        "data loaders and collectives of many ranks open more", "the unit of slurmd",
                        "LimitNOFILE=1048576");
        if (auto const memory = limit("memlock_bytes"); memory && *memory < locked_memory_wanted_bytes)
            should_know(fmt::format("at most {} can be locked in memory",
                                    format_size(static_cast<std::size_t>(*memory))),
                        "InfiniBand and RoCE register memory by locking it", "the unit of slurmd",
                        "LimitMEMLOCK=infinity");
        if (auto const memory = limit("address_space_bytes"))
            must_change(fmt::format("the address space is limited to {}",
                                    format_size(static_cast<std::size_t>(*memory))),
                        "CUDA reserves far more address space than memory", "slurm.conf",
                        "PropagateResourceLimitsExcept=AS,MEMLOCK,NOFILE");
    }

    void judge_names() {
        if (node_.unresolved.empty()) return;
        must_change(fmt::format("it finds no address of {}", join(node_.unresolved, ", ")),
                    "ranks connect to their peers by these names", "/etc/hosts or DNS",
                    "all nodes by their names in Slurm");
    }

    void judge_gpus() {
        if (!pool_.has_gpus || node_.gpus_visible >= std::max(1, node_.gpus_allocated)) return;
        must_change(fmt::format("Slurm gave {}, and {} can be opened",
                                count_text(node_.gpus_allocated, "GPU"), node_.gpus_visible),
                    "the driver is not loaded, or gres.conf names other devices", "gres.conf",
                    "AutoDetect=nvml, or Name=gpu File=/dev/nvidia[0-7]");
    }

    /// Compares the NUMA node of each GPU with that of the cores that its rank has without slurm.bind.
    void judge_binding() {
        auto const& gpus = node_.gpu_numa_nodes;
        auto const& cores = node_.core_numa_nodes;
        for (std::size_t i = 0; i < std::min(gpus.size(), cores.size()); ++i) {
            if (gpus[i] < 0 || cores[i] < 0 || gpus[i] == cores[i]) continue;
            return should_know(
                fmt::format("the cores of rank {} are on NUMA node {}, its GPU is on node {}", i, cores[i],
                            gpus[i]),
                "with an equal share of the cores for each rank, copies to GPUs cross the nodes", "site.yaml",
                "task_defaults: {slurm: {bind: auto}}");
        }
    }

    void judge_runtime() {
        if (node_.runtime_error.empty()) return;
        must_change(fmt::format("{} does not run: {}", pool_.container_runtime, node_.runtime_error),
                    "the images of experiments are run with it", "site.yaml",
                    "container_runtime: one that the nodes have");
    }

    void judge_storage() {
        if (!node_.storage) return;
        auto const& storage = *node_.storage;
        if (!storage.error.empty())
            return must_change(fmt::format("checkpoints can't be written: {}", storage.error),
                               "a trial can't save its work", "the configuration",
                               "checkpoint_storage.host_path on a file system that all nodes mount");
        if (storage.write_bytes_per_s < slow_storage_bytes_per_s)
            should_know(fmt::format("checkpoints are written at {}/s",
                                    format_size(whole_bytes(storage.write_bytes_per_s))),
                        "preempted trials must save within their grace period", "the configuration",
                        "checkpoint_storage.host_path on a faster file system");
        if (storage.free_bytes < little_space_bytes)
            should_know(fmt::format("{} are free for checkpoints",
                                    format_size(static_cast<std::size_t>(storage.free_bytes))),
                        "a trial fails if it can't save", "the configuration",
                        "checkpoint_storage, or fewer checkpoints");
    }

    void judge_network() {
        if (pool_.nodes < 2) return;
        if (node_.interfaces.empty())
            should_know("no network interface leads to its peers", "collectives then choose one themselves",
                        "site.yaml", "network_interface: NAME");
        if (node_.index != 0) return;
        if (!node_.bytes_per_s)
            return must_change("the other node can't connect to it",
                               "ranks on several nodes can't reach each other", "the firewall",
                               "all ports between compute nodes open");
        if (*node_.bytes_per_s < slow_network_bytes_per_s)
            should_know(fmt::format("it receives {:.2f} Gbit/s from the other node on {}",
                                    *node_.bytes_per_s * 8 / 1e9, node_.interfaces),
                        "training on several nodes is as slow as this network", "site.yaml",
                        "network_interface: that of the fast network");
    }

    PreflightPool const& pool_;
    LoginFacts const& login_;
    PreflightFacts const& node_;
    std::vector<Finding>& found_;
};

}  // namespace

std::vector<Finding> judge_preflight(PreflightPool const& pool, LoginFacts const& login,
                                     std::vector<PreflightFacts> const& nodes) {
    std::vector<Finding> found;
    for (auto const& node : nodes) NodeJudge(pool, login, node, found).judge();
    return found;
}

}  // namespace det::site
