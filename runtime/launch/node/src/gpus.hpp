#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace det::launch::node {

/// The UUIDs of NVIDIA GPUs as their driver tells them, by number; `wanted` ("0,2", as SLURM_STEP_GPUS has
/// it) picks some, anything else all. No program is started for it. Empty where there is no such driver.
std::vector<std::string> list_gpu_uuids(std::string_view wanted,
                                        std::filesystem::path const& driver = "/proc/driver/nvidia/gpus");

}  // namespace det::launch::node
