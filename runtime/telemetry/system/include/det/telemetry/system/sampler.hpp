#pragma once
#include <det/telemetry/system/gpus.hpp>
#include <det/telemetry/system/proc_files.hpp>

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace det::telemetry {

/// Averages of one group of system metrics. A metric of a GPU has the GPU's UUID in its name, after a space.
struct SystemReport {
    std::string group;  // gpu, cpu, memory, disk or network
    std::vector<std::string> names;
    std::vector<double> values;
};

/// Samples Determined's system metrics of this node. Rates (cpu, disk, network) cover the time since the
/// sample before, so that the first sample has none. Metrics that the node does not provide are left out.
///
/// | group | metric | unit |
/// |---|---|---|
/// | gpu | gpu_util | percent |
/// | gpu | gpu_free_memory | bytes |
/// | cpu | cpu_util_simple | percent, averaged over the processors |
/// | memory | memory_free | MemAvailable of /proc/meminfo, in 10^9 bytes |
/// | disk | disk_iops | operations a second |
/// | disk | disk_throughput_read, disk_throughput_write | bytes a second |
/// | network | net_throughput_sent, net_throughput_recv | bytes a second |
class SystemSampler {
public:
    using TimePoint = std::chrono::steady_clock::time_point;

    /// \param root the directory that contains proc and sys
    /// \param gpus nullopt: none
    SystemSampler(std::filesystem::path root, std::unique_ptr<GpuReader> gpus)
        : root_(std::move(root)), gpus_(std::move(gpus)) {}

    /// Reads all files and GPUs once and adds the values to the averages; what can't be read is left out.
    void add_sample(TimePoint now);

    /// The averages of the samples since the last call, in the order of the groups above.
    std::vector<SystemReport> take_averages();

private:
    struct Counters {
        TimePoint at;
        std::optional<CpuTimes> cpu;
        std::optional<DiskCounters> disks;
        std::optional<NetworkCounters> network;
    };
    struct Sum {
        std::string name;
        double total = 0;
        int count = 0;
    };

    Counters read_counters(TimePoint now) const;
    void add_rates(Counters const& before, Counters const& now);
    void add(std::string_view group, std::string const& name, double value);

    std::filesystem::path root_;
    std::unique_ptr<GpuReader> gpus_;
    std::optional<Counters> before_;
    std::map<std::string, std::vector<Sum>, std::less<>> sums_;  // by group
};

}  // namespace det::telemetry
