#include <det/foundation/files.hpp>
#include <det/telemetry/system/sampler.hpp>

#include <algorithm>

namespace det::telemetry {
namespace {

namespace fs = std::filesystem;

constexpr double gigabyte = 1e9;
constexpr std::string_view groups[] = {"gpu", "cpu", "memory", "disk", "network"};

/// The increase of a sum over devices; 0 if the sum is smaller than before, because a device was removed.
double increase(std::uint64_t before, std::uint64_t now) {
    return now < before ? 0 : static_cast<double>(now - before);
}

}  // namespace

SystemSampler::Counters SystemSampler::read_counters(TimePoint now) const {
    Counters counters{now, {}, {}, {}};
    auto const proc = root_ / "proc";
    if (auto const text = read_file(proc / "stat")) counters.cpu = parse_cpu_times(*text);
    if (auto const text = read_file(proc / "diskstats")) {
        counters.disks = parse_disks(*text, [&](std::string_view name) {
            return !is_virtual_disk(name) && path_exists(root_ / "sys/block" / name);
        });
    }
    if (auto const text = read_file(proc / "net/dev")) counters.network = parse_network(*text);
    return counters;
}

void SystemSampler::add_sample(TimePoint now) {
    auto const counters = read_counters(now);
    if (before_ && now > before_->at) add_rates(*before_, counters);
    before_ = counters;
    if (auto const text = read_file(root_ / "proc/meminfo")) {
        if (auto const bytes = parse_available_memory(*text))
            add("memory", "memory_free", static_cast<double>(*bytes) / gigabyte);
    }
    if (!gpus_) return;
    for (auto const& gpu : gpus_->read()) {
        add("gpu", "gpu_util " + gpu.uuid, gpu.utilisation_percent);
        add("gpu", "gpu_free_memory " + gpu.uuid, static_cast<double>(gpu.free_memory_bytes));
    }
}

void SystemSampler::add_rates(Counters const& before, Counters const& now) {
    double const seconds = std::chrono::duration<double>(now.at - before.at).count();
    if (before.cpu && now.cpu) {
        auto const total = increase(before.cpu->total, now.cpu->total);
        auto const busy = increase(before.cpu->busy, now.cpu->busy);
        if (total > 0) add("cpu", "cpu_util_simple", 100 * std::min(busy / total, 1.0));
    }
    auto const add_rate = [&](std::string_view group, char const* name, std::uint64_t from,
                              std::uint64_t to) { add(group, name, increase(from, to) / seconds); };
    if (before.disks && now.disks) {
        add_rate("disk", "disk_iops", before.disks->operations, now.disks->operations);
        add_rate("disk", "disk_throughput_read", before.disks->read_bytes, now.disks->read_bytes);
        add_rate("disk", "disk_throughput_write", before.disks->written_bytes, now.disks->written_bytes);
    }
    if (before.network && now.network) {
        add_rate("network", "net_throughput_sent", before.network->sent_bytes, now.network->sent_bytes);
        add_rate("network", "net_throughput_recv", before.network->received_bytes,
                 now.network->received_bytes);
    }
}

void SystemSampler::add(std::string_view group, std::string const& name, double value) {
    auto& sums = sums_[std::string(group)];
    auto const found = std::ranges::find(sums, name, &Sum::name);
    auto& sum = found == sums.end() ? sums.emplace_back(Sum{name}) : *found;
    sum.total += value;
    ++sum.count;
}

std::vector<SystemReport> SystemSampler::take_averages() {
    std::vector<SystemReport> reports;
    for (auto const group : groups) {
        auto const found = sums_.find(group);
        if (found == sums_.end()) continue;
        SystemReport report{std::string(group), {}, {}};
        for (auto const& sum : found->second) {
            report.names.push_back(sum.name);
            report.values.push_back(sum.total / sum.count);
        }
        reports.push_back(std::move(report));
    }
    sums_.clear();
    return reports;
}

}  // namespace det::telemetry
