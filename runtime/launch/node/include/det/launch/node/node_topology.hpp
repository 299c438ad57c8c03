#pragma once
#include <det/foundation/environment.hpp>
#include <det/launch/node/cpu_binding.hpp>
#include <det/protocol/launch_options.hpp>

#include <filesystem>
#include <vector>

namespace det::launch::node {

/// Where Linux and the driver of NVIDIA show the hardware. Tests give recorded copies.
struct HardwareFiles {
    std::filesystem::path sysfs = "/sys";
    std::filesystem::path nvidia_gpus = "/proc/driver/nvidia/gpus";
    std::filesystem::path kfd = "/dev/kfd";
};

/// Corrects the vendor of a planned slot type, because the names of GPUs in Slurm do not always tell it.
/// \return cuda, rocm or xpu (Intel) if the node has GPUs of that vendor only; else, and for CPU slots,
/// `planned`
SlotType find_slot_type(SlotType planned, HardwareFiles const& files = {});

/// The CPUs that this process may use, in ascending order.
std::vector<int> own_cpus();
/// Binds this thread, and the threads and processes that it starts, to the CPUs.
/// \return false if Linux refuses it
bool bind_to_cpus(std::vector<int> const& cpus);

/// All CPUs of the node that are online.
std::vector<int> online_cpus(HardwareFiles const& files = {});
/// The cores to which the CPUs belong, with these CPUs only.
std::vector<Core> read_cores(std::vector<int> const& cpus, HardwareFiles const& files = {});
/// The NUMA nodes of the CPUs, in ascending order; empty: not known.
std::vector<int> numa_nodes_of(std::vector<int> const& cpus, HardwareFiles const& files = {});

/// The NUMA node of each GPU of NVIDIA, else of AMD, else of Intel, in the order of Slurm's numbers; -1: not
/// known.
std::vector<int> read_gpu_numa_nodes(HardwareFiles const& files = {});

/// The NUMA nodes of the GPUs of a node's ranks, of which rank i uses the i-th GPU that it sees.
/// \param all as read_gpu_numa_nodes() returns them
/// \param environment of a rank: CUDA_VISIBLE_DEVICES, ROCR_VISIBLE_DEVICES, HIP_VISIBLE_DEVICES or
///     ZE_AFFINITY_MASK, and Slurm's SLURM_STEP_GPUS or SLURM_JOB_GPUS
/// \return Empty if the ranks have no GPU each. Pure.
std::vector<int> numa_nodes_of_ranks(std::vector<int> const& all, int local_size,
                                     Environment const& environment);

}  // namespace det::launch::node
