#pragma once
#include <filesystem>
#include <string>
#include <string_view>

namespace det::transport::ucx {

/// UCX's names of the RDMA adapters to which network interfaces belong: "ib0" -> "mlx5_0:1".
/// \param sys the sysfs directory
std::string ucx_devices(std::string_view interfaces, std::filesystem::path const& sys = "/sys");

}  // namespace det::transport::ucx
