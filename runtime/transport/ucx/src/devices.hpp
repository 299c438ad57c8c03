#pragma once
#include <filesystem>
#include <string>
#include <string_view>

namespace det::transport::ucx {

/// Converts network interfaces to UCX device names: "ib0" -> "ib0,mlx5_0:1". If an interface belongs to an
/// RDMA adapter, the result includes the adapter.
/// \param sys the sysfs directory
std::string ucx_devices(std::string_view interfaces, std::filesystem::path const& sys = "/sys");

}  // namespace det::transport::ucx
