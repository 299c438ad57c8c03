#include <det/telemetry/system/gpus.hpp>

#include <dlfcn.h>

namespace det::telemetry {
namespace nvml {

// The part of NVML's binary interface that is used here.
using Device = struct nvmlDevice_st*;
using Code = int;
constexpr Code success = 0;
constexpr std::size_t uuid_size_max = 96;

struct Utilisation {
    unsigned gpu, memory;  // percent
};
struct Memory {
    unsigned long long total, free, used;  // bytes
};

struct Functions {
    Code (*init)();
    Code (*shutdown)();
    Code (*count)(unsigned*);
    Code (*handle)(unsigned, Device*);
    Code (*uuid)(Device, char*, unsigned);
    Code (*utilisation)(Device, Utilisation*);
    Code (*memory)(Device, Memory*);
};

template <class Function>
bool find(void* library, char const* name, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(library, name));
    return function != nullptr;
}

bool find_all(void* library, Functions& nvml) {
    return find(library, "nvmlInit_v2", nvml.init) && find(library, "nvmlShutdown", nvml.shutdown) &&
           find(library, "nvmlDeviceGetCount_v2", nvml.count) &&
           find(library, "nvmlDeviceGetHandleByIndex_v2", nvml.handle) &&
           find(library, "nvmlDeviceGetUUID", nvml.uuid) &&
           find(library, "nvmlDeviceGetUtilizationRates", nvml.utilisation) &&
           find(library, "nvmlDeviceGetMemoryInfo", nvml.memory);
}

class Reader final : public GpuReader {
public:
    explicit Reader(Functions const& nvml) : nvml_(nvml) {
        unsigned count = 0;
        if (nvml_.count(&count) != success) return;
        for (unsigned i = 0; i < count; ++i) add(i);
    }
    ~Reader() override { nvml_.shutdown(); }
    Reader(Reader const&) = delete;
    Reader& operator=(Reader const&) = delete;

    bool empty() const { return gpus_.empty(); }

    std::vector<GpuReading> read() override {
        std::vector<GpuReading> readings;
        for (auto const& gpu : gpus_) {
            Utilisation utilisation{};
            Memory memory{};
            if (nvml_.utilisation(gpu.device, &utilisation) != success) continue;
            if (nvml_.memory(gpu.device, &memory) != success) continue;
            readings.push_back({gpu.uuid, static_cast<double>(utilisation.gpu), memory.free});
        }
        return readings;
    }

private:
    struct Gpu {
        Device device;
        std::string uuid;
    };

    /// Adds the GPU with this index. Skips a GPU that cannot be opened, for example one of another job.
    void add(unsigned index) {
        Device device = nullptr;
        char uuid[uuid_size_max] = "";
        if (nvml_.handle(index, &device) != success) return;
        if (nvml_.uuid(device, uuid, sizeof uuid) != success) return;
        gpus_.push_back({device, uuid});
    }

    Functions nvml_;
    std::vector<Gpu> gpus_;
};

}  // namespace nvml

std::unique_ptr<GpuReader> open_nvml(std::string const& library) {
    // The library stays open until the process ends: it may leave threads behind.
    void* const opened = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (opened == nullptr) return nullptr;
    nvml::Functions functions{};
    if (!nvml::find_all(opened, functions) || functions.init() != nvml::success) return nullptr;
    auto reader = std::make_unique<nvml::Reader>(functions);
    if (reader->empty()) return nullptr;
    return reader;
}

std::unique_ptr<GpuReader> open_gpus() {
    if (auto reader = open_nvml()) return reader;
    return open_amdgpu();
}

}  // namespace det::telemetry
