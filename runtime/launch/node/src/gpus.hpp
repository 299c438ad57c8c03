#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace det::launch::node {

/// The UUIDs of NVIDIA GPUs, read from the driver's files without starting a program. `wanted` ("0,2", as in
/// SLURM_STEP_GPUS) selects minor numbers; anything else selects all. Empty if there is no driver.
std::vector<std::string> list_gpu_uuids(std::string_view wanted,
                                        std::filesystem::path const& driver = "/proc/driver/nvidia/gpus");

/// The same for GPUs of AMD: the unique ids that the driver amdgpu shows, as ROCm writes them. `wanted`
/// counts them from 0.
std::vector<std::string> list_amd_gpu_uuids(std::string_view wanted,
                                            std::filesystem::path const& sysfs = "/sys");

/// The PCI addresses of NVIDIA GPUs as sysfs names them, in the order of their minor numbers.
std::vector<std::string> list_gpu_bus_ids(std::filesystem::path const& driver);

}  // namespace det::launch::node
