#pragma once
#include <det/collectives/device/device_backend.hpp>

#include <filesystem>

namespace det::collectives::nccl {

/// Where the libraries are; names without a directory are looked for as the dynamic linker does, and those
/// that the process has loaded already (PyTorch brings its own) are taken.
struct Libraries {
    std::filesystem::path nccl = "libnccl.so.2";
    std::filesystem::path cuda_driver = "libcuda.so.1";
};

/// NCCL on the calling thread's current CUDA device. codes::transport where a library is absent, lacks
/// something, or is older than NCCL 2.14 (which cannot connect without blocking).
Result<std::shared_ptr<collectives::device::DeviceBackend>> open_nccl(Libraries const& libraries = {});

}  // namespace det::collectives::nccl
