#pragma once
#include <cstdint>
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

/// Reads the GPUs that NVIDIA's driver shows to this process.
class GpuReader {
public:
    /// Opens the driver's library.
    /// \return nullopt if there is no such library, it can't be initialised, or it shows no GPU
    static std::optional<GpuReader> open(std::string const& library = nvml_library);
    GpuReader(GpuReader&&) noexcept;
    ~GpuReader();

    /// The GPUs that can be read, always in the same order.
    std::vector<GpuReading> read();

private:
    class Nvml;
    explicit GpuReader(std::unique_ptr<Nvml> nvml);

    std::unique_ptr<Nvml> nvml_;
};

}  // namespace det::telemetry
