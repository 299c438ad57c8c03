#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/launch/node/node_topology.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <sched.h>

#include "gpus.hpp"

namespace det::launch::node {
namespace {

namespace fs = std::filesystem;

constexpr int cpus_max = 8192;  // the greatest number for which Linux can be built
constexpr std::string_view nvidia = "0x10de", amd = "0x1002", intel = "0x8086";
constexpr std::string_view visible_variables[] = {"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES",
                                                  "HIP_VISIBLE_DEVICES", "ZE_AFFINITY_MASK"};

/// A set of CPUs for sched_setaffinity(2). A cpu_set_t alone has 1024 CPUs.
class CpuSet {
public:
    cpu_set_t* get() { return sets_.data(); }
    std::size_t size_bytes() const { return sets_.size() * sizeof(cpu_set_t); }
    void add(int cpu) { CPU_SET_S(static_cast<std::size_t>(cpu), size_bytes(), sets_.data()); }
    bool contains(int cpu) const {
        return CPU_ISSET_S(static_cast<std::size_t>(cpu), size_bytes(), sets_.data()) != 0;
    }

private:
    std::vector<cpu_set_t> sets_ = std::vector<cpu_set_t>(cpus_max / CPU_SETSIZE);
};

std::string read_text(fs::path const& file) { return std::string(trim(read_file(file).value_or(""))); }

/// The number at the end of a name such as "node3"; nothing for other names.
std::optional<int> number_after(std::string_view prefix, std::string_view name) {
    if (!name.starts_with(prefix)) return std::nullopt;
    return parse_integer<int>(name.substr(prefix.size()));
}

std::map<int, fs::path> list_numbered(fs::path const& directory, std::string_view prefix) {
    std::map<int, fs::path> found;
    for (auto const& name : list_directory(directory).value_or(std::vector<std::string>())) {
        if (auto const number = number_after(prefix, name)) found.emplace(*number, directory / name);
    }
    return found;
}

/// The NUMA node of each CPU.
std::map<int, int> read_numa_nodes(HardwareFiles const& files) {
    std::map<int, int> node_of_cpu;
    for (auto const& [number, path] : list_numbered(files.sysfs / "devices/system/node", "node")) {
        for (auto const cpu : parse_cpu_list(read_text(path / "cpulist"))) node_of_cpu[cpu] = number;
    }
    return node_of_cpu;
}

/// The devices of a vendor's GPUs, in the order of their numbers.
std::vector<fs::path> list_drm_devices(HardwareFiles const& files, std::string_view vendor) {
    std::vector<fs::path> devices;
    for (auto const& [number, path] : list_numbered(files.sysfs / "class/drm", "renderD")) {
        if (read_text(path / "device/vendor") == vendor) devices.push_back(path / "device");
    }
    return devices;
}

/// Whether Intel's GPUs are of the kind without a monitor. Those inside of Intel's processors and desktop
/// cards are VGA controllers: a node may have one for its console beside the GPUs of Slurm.
bool has_intel_accelerators(HardwareFiles const& files) {
    constexpr std::string_view display_controller = "0x0380";  // PCI class, without the programming interface
    return std::ranges::any_of(list_drm_devices(files, intel), [](auto const& device) {
        return read_text(device / "class").starts_with(display_controller);
    });
}

int numa_node_of_device(fs::path const& device) {
    return parse_integer<int>(read_text(device / "numa_node")).value_or(-1);
}

std::optional<std::vector<int>> parse_numbers(std::string_view text) {
    std::vector<int> numbers;
    for (auto const part : split(text, ',')) {
        auto const number = parse_integer<int>(trim(part));
        if (!number || *number < 0) return std::nullopt;
        numbers.push_back(*number);
    }
    return numbers;
}

bool contains_all(std::vector<int> const& all, std::vector<int> const& some) {
    return std::ranges::all_of(some, [&](int each) { return std::ranges::find(all, each) != all.end(); });
}

}  // namespace

std::vector<int> own_cpus() {
    CpuSet set;
    std::vector<int> cpus;
    if (::sched_getaffinity(0, set.size_bytes(), set.get()) != 0) return cpus;
    for (int cpu = 0; cpu < cpus_max; ++cpu) {
        if (set.contains(cpu)) cpus.push_back(cpu);
    }
    return cpus;
}

bool bind_to_cpus(std::vector<int> const& cpus) {
    CpuSet set;
    for (auto const cpu : cpus) {
        if (cpu < cpus_max) set.add(cpu);
    }
    return ::sched_setaffinity(0, set.size_bytes(), set.get()) == 0;
}

std::vector<int> online_cpus(HardwareFiles const& files) {
    return parse_cpu_list(read_text(files.sysfs / "devices/system/cpu/online"));
}

std::vector<Core> read_cores(std::vector<int> const& cpus, HardwareFiles const& files) {
    auto const node_of_cpu = read_numa_nodes(files);
    std::map<int, Core> by_first_cpu;
    for (auto const cpu : cpus) {
        auto const threads = parse_cpu_list(read_text(
            files.sysfs / fmt::format("devices/system/cpu/cpu{}/topology/thread_siblings_list", cpu)));
        auto& core = by_first_cpu[threads.empty() ? cpu : threads.front()];
        core.cpus.push_back(cpu);
        auto const node = node_of_cpu.find(cpu);
        if (node != node_of_cpu.end()) core.numa_node = node->second;
    }
    std::vector<Core> cores;
    for (auto& [first, core] : by_first_cpu) cores.push_back(std::move(core));
    return cores;
}

std::vector<int> numa_nodes_of(std::vector<int> const& cpus, HardwareFiles const& files) {
    auto const node_of_cpu = read_numa_nodes(files);
    std::vector<int> nodes;
    for (auto const cpu : cpus) {
        auto const node = node_of_cpu.find(cpu);
        if (node != node_of_cpu.end()) nodes.push_back(node->second);
    }
    std::ranges::sort(nodes);
    auto const repeated = std::ranges::unique(nodes);
    nodes.erase(repeated.begin(), repeated.end());
    return nodes;
}

std::vector<int> read_gpu_numa_nodes(HardwareFiles const& files) {
    std::vector<int> nodes;
    for (auto const& bus_id : list_gpu_bus_ids(files.nvidia_gpus))
        nodes.push_back(numa_node_of_device(files.sysfs / "bus/pci/devices" / bus_id));
    if (!nodes.empty()) return nodes;
    for (auto const vendor : {nvidia, amd, intel}) {
        for (auto const& device : list_drm_devices(files, vendor))
            nodes.push_back(numa_node_of_device(device));
        if (!nodes.empty()) break;
    }
    return nodes;
}

SlotType find_slot_type(SlotType planned, HardwareFiles const& files) {
    if (planned == SlotType::cpu) return planned;
    std::vector<SlotType> found;
    if (!list_gpu_bus_ids(files.nvidia_gpus).empty()) found.push_back(SlotType::cuda);
    if (path_exists(files.kfd) && !list_drm_devices(files, amd).empty()) found.push_back(SlotType::rocm);
    if (has_intel_accelerators(files)) found.push_back(SlotType::xpu);
    return found.size() == 1 ? found.front() : planned;
}

std::vector<int> numa_nodes_of_ranks(std::vector<int> const& all, int local_size,
                                     Environment const& environment) {
    std::vector<int> allocated;
    for (auto const* name : {"SLURM_STEP_GPUS", "SLURM_JOB_GPUS"}) {
        auto const numbers = parse_numbers(environment.find(name).value_or("")).value_or(std::vector<int>());
        if (allocated.empty()) allocated = numbers;
    }
    if (allocated.empty()) {
        for (std::size_t i = 0; i < all.size(); ++i) allocated.push_back(static_cast<int>(i));
    }
    auto gpus = allocated;
    for (auto const name : visible_variables) {
        auto const text = environment.find_non_empty(name);
        if (!text) continue;
        auto const visible = parse_numbers(*text);
        if (!visible) return {};  // UUIDs
        // Where Slurm constrains devices by cgroup, a program counts only the allocated GPUs, from 0 on.
        gpus = *visible;
        if (contains_all(allocated, gpus)) break;
        for (auto& gpu : gpus) {
            if (static_cast<std::size_t>(gpu) >= allocated.size()) return {};
            gpu = allocated[static_cast<std::size_t>(gpu)];
        }
        break;
    }
    std::vector<int> nodes;
    for (int rank = 0; rank < local_size; ++rank) {
        auto const index = static_cast<std::size_t>(rank);
        if (index >= gpus.size() || static_cast<std::size_t>(gpus[index]) >= all.size()) return {};
        nodes.push_back(all[static_cast<std::size_t>(gpus[index])]);
    }
    return nodes;
}

}  // namespace det::launch::node
