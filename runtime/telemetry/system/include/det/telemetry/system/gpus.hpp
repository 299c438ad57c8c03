#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace det::telemetry {

struct GpuReading {
    std::string uuid;
    double utilisation_percent = 0;
    std::uint64_t free_memory_bytes = 0;
};

inline constexpr char nvml_library[] = "libnvidia-ml.so.1";

/// Reads the GPUs that this process may use.
class GpuReader {
public:
    virtual ~GpuReader() = default;

    /// The GPUs that can be read, always in the same order.
    virtual std::vector<GpuReading> read() = 0;
};

/// Opens the library of NVIDIA's driver.
/// \return nullptr if there is no such library, it can't be initialised, or it shows no GPU
std::unique_ptr<GpuReader> open_nvml(std::string const& library = nvml_library);

/// Opens the GPUs of AMD that the driver amdgpu shows below /sys/class/drm, if this process can open their
/// devices in /dev/dri.
/// \param root a directory with these two; of a recorded copy in tests
/// \return nullptr if there is none
std::unique_ptr<GpuReader> open_amdgpu(std::filesystem::path const& root = "/");

/// The GPUs of NVIDIA, else those of AMD; nullptr if there is none.
std::unique_ptr<GpuReader> open_gpus();

}  // namespace det::telemetry
