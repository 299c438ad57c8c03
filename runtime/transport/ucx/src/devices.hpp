#pragma once
#include <filesystem>
#include <string>
#include <string_view>

namespace det::transport::ucx {

/// What UCX calls the devices of these network interfaces ("ib0" -> "ib0,mlx5_0:1"): an interface of an RDMA
/// adapter stands for the adapter, which is what makes it fast. `sys`: where the kernel tells of its devices.
std::string ucx_devices(std::string_view interfaces, std::filesystem::path const& sys = "/sys");

}  // namespace det::transport::ucx
