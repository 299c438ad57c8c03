#pragma once
#include <det/collectives/device/device_backend.hpp>

#include <filesystem>

namespace det::collectives::nccl {

/// Paths of the libraries. The dynamic linker searches for names without a directory. If the process has
/// loaded a library of this name already (PyTorch has its own), that one is used.
struct Libraries {
    std::filesystem::path nccl = "libnccl.so.2";
    std::filesystem::path cuda_driver = "libcuda.so.1";
};

/// Opens NCCL and the CUDA driver. Every call of the backend uses the CUDA device that is the current one of
/// the calling thread then. Fails with codes::transport if a library or a function is missing, or for NCCL
/// before 2.14, which cannot connect without blocking.
Result<std::shared_ptr<collectives::device::DeviceBackend>> open_nccl(Libraries const& libraries = {});

}  // namespace det::collectives::nccl
