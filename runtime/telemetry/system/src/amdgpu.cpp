#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/telemetry/system/gpus.hpp>

#include <fcntl.h>
#include <map>

namespace det::telemetry {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view amd = "0x1002";
constexpr std::string_view render_node = "renderD";

std::string read_text(fs::path const& file) { return std::string(trim(read_file(file).value_or(""))); }

std::optional<std::uint64_t> read_number(fs::path const& file) {
    return parse_integer<std::uint64_t>(read_text(file));
}

/// Whether a cgroup lets this process use the GPU.
bool can_open(fs::path const& device) {
    UniqueFd const opened(::open(device.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
    return opened.get() >= 0;
}

/// The name that ROCm has for the GPU; without one its PCI address.
std::string uuid_of(fs::path const& device) {
    auto const id = read_text(device / "unique_id");
    if (!id.empty()) return "GPU-" + (id.starts_with("0x") ? id.substr(2) : id);
    std::error_code failure;
    return fs::canonical(device, failure).filename().string();
}

class AmdgpuReader final : public GpuReader {
public:
    void add(fs::path const& device) { gpus_.push_back({device, uuid_of(device)}); }
    bool empty() const { return gpus_.empty(); }

    std::vector<GpuReading> read() override {
        std::vector<GpuReading> readings;
        for (auto const& gpu : gpus_) {
            auto const busy = read_number(gpu.device / "gpu_busy_percent");
            auto const total = read_number(gpu.device / "mem_info_vram_total");
            auto const used = read_number(gpu.device / "mem_info_vram_used");
            if (!busy || !total || !used || *used > *total) continue;
            readings.push_back({gpu.uuid, static_cast<double>(*busy), *total - *used});
        }
        return readings;
    }

private:
    struct Gpu {
        fs::path device;
        std::string uuid;
    };
    std::vector<Gpu> gpus_;
};

}  // namespace

std::unique_ptr<GpuReader> open_amdgpu(fs::path const& root) {
    auto const drm = root / "sys/class/drm";
    std::map<int, fs::path> by_number;
    for (auto const& name : list_directory(drm).value_or(std::vector<std::string>())) {
        if (!name.starts_with(render_node)) continue;
        auto const number = parse_integer<int>(std::string_view(name).substr(render_node.size()));
        auto const device = drm / name / "device";
        if (number && read_text(device / "vendor") == amd && can_open(root / "dev/dri" / name))
            by_number.emplace(*number, device);
    }
    auto reader = std::make_unique<AmdgpuReader>();
    for (auto const& [number, device] : by_number) reader->add(device);
    if (reader->empty()) return nullptr;
    return reader;
}

}  // namespace det::telemetry
