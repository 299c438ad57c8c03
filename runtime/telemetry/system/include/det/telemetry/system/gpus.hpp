#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace det::telemetry {

struct GpuReading {
    std::string uuid;
    double utilisation_percent = 0;
    std::uint64_t free_memory_bytes = 0;
};

/// Reads the GPUs of this node.
class GpuReader {
public:
    virtual ~GpuReader() = default;
    /// The GPUs that can be read, always in the same order.
    virtual std::vector<GpuReading> read() = 0;
};

inline constexpr char nvml_library[] = "libnvidia-ml.so.1";

/// The GPUs that NVIDIA's driver shows to this process. The library is opened at run time.
/// \return null if there is no such library, it can't be initialised, or it shows no GPU
std::unique_ptr<GpuReader> open_nvml(std::string const& library = nvml_library);

}  // namespace det::telemetry
