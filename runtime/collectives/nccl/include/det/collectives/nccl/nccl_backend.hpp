#pragma once
#include <det/collectives/device/device_backend.hpp>

#include <filesystem>

namespace det::collectives::nccl {

/// Paths of the libraries. The dynamic linker searches for names without a directory. If the process has
/// loaded a library of this name already (PyTorch has its own), that one is used. Empty: the usual name.
struct Libraries {
    std::filesystem::path nccl = {};    ///< "libnccl.so.2"; of AMD "librccl.so.1"
    std::filesystem::path driver = {};  ///< "libcuda.so.1"; of AMD "libamdhip64.so.N", the HIP N of the build
};

/// Opens the CUDA driver. NCCL is opened when the devices are connected, so copies between device and host
/// memory work without it. Every call of the backend uses the device that is the current one of the calling
/// thread then. Fails with codes::transport if the driver or a function of it is missing, or if this program
/// was built without NCCL.
Result<std::shared_ptr<collectives::device::DeviceBackend>> open_nccl(Libraries const& libraries = {});

/// The same for GPUs of AMD: HIP in place of the CUDA driver, and RCCL, which has NCCL's functions.
Result<std::shared_ptr<collectives::device::DeviceBackend>> open_rccl(Libraries const& libraries = {});

}  // namespace det::collectives::nccl
