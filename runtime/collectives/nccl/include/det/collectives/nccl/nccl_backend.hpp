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

/// Opens NCCL on the calling thread's current CUDA device. Fails with codes::transport if a library or a
/// function is missing, or for NCCL before 2.14, which cannot connect without blocking.
Result<std::shared_ptr<collectives::device::DeviceBackend>> open_nccl(Libraries const& libraries = {});

}  // namespace det::collectives::nccl
