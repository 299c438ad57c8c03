#include <cstring>
#include <fmt/format.h>

#include "gpu_device.hpp"
#include "nccl_communicator.hpp"

namespace det::collectives::nccl::DET_GPU_API {
namespace {

namespace own = DET_GPU_API;  // its functions have the names of the members below

using collectives::device::DeviceBackend;
using collectives::device::DeviceCommunicator;
using collectives::device::DeviceEvent;
using collectives::device::DeviceScratch;
using collectives::device::DeviceStream;
using collectives::device::Stream;

class NcclBackend final : public DeviceBackend {
public:
    NcclBackend(GpuFunctions const& gpu, std::filesystem::path nccl)
        : gpu_(std::make_shared<GpuFunctions const>(gpu)), nccl_path_(std::move(nccl)) {}

    bool is_device_memory(void const* memory) const override { return own::is_device_memory(*gpu_, memory); }
    Result<bool> is_capturing(Stream stream) const override {
        return own::is_capturing(*gpu_, static_cast<GpuStream>(stream));
    }

    Status load_communication_library() override {
        if (nccl_) return Ok{};
        DET_TRY_ASSIGN(auto const loaded, load_nccl(nccl_path_));
        nccl_ = std::make_shared<NcclFunctions const>(loaded);
        return Ok{};
    }

    Result<std::string> make_id() override {
        DET_TRY(load_communication_library());
        ncclUniqueId id{};
        auto const made = nccl_->get_unique_id(&id);
        if (made != ncclSuccess) {
            return Error{codes::transport,
                         fmt::format("{} cannot begin: {}", nccl_name, nccl_->get_error_string(made))};
        }
        return std::string(id.internal, sizeof id.internal);
    }

    Result<std::unique_ptr<DeviceCommunicator>> begin_connect(std::string const& text, Rank rank,
                                                              int ranks) override {
        DET_TRY(load_communication_library());
        ncclUniqueId id{};
        if (text.size() != sizeof id.internal) {
            return Error{codes::transport, fmt::format("what the chief says of {} is no id of it", nccl_name),
                         "start all ranks from the same version of the program"};
        }
        std::memcpy(id.internal, text.data(), text.size());
        return own::begin_connect({nccl_, gpu_}, id, rank, ranks);
    }

    Result<std::unique_ptr<DeviceScratch>> allocate(std::size_t size_bytes, Stream stream) override {
        return own::allocate(gpu_, size_bytes, static_cast<GpuStream>(stream));
    }
    Result<tensor::PinGuard> pin(std::span<std::byte> host) override { return own::pin(gpu_, host); }
    Status copy(tensor::CopyDirection to, tensor::DeviceCopy const& copy, Stream stream) override {
        return own::copy(*gpu_, to, copy, static_cast<GpuStream>(stream));
    }
    Result<std::unique_ptr<DeviceStream>> make_stream() override { return own::make_stream(gpu_); }
    Result<std::unique_ptr<DeviceEvent>> record(Stream stream) override {
        return record_event(gpu_, static_cast<GpuStream>(stream));
    }

private:
    Gpu gpu_;
    std::filesystem::path nccl_path_;
    std::shared_ptr<NcclFunctions const> nccl_;  // null until the devices are connected
};

}  // namespace

Result<std::shared_ptr<DeviceBackend>> open_backend(Libraries const& libraries) {
    auto const path_or = [](std::filesystem::path const& given, char const* usual) {
        return given.empty() ? std::filesystem::path(usual) : given;
    };
    DET_TRY_ASSIGN(auto const gpu, load_driver(path_or(libraries.driver, driver_library)));
    return Result<std::shared_ptr<DeviceBackend>>(
        std::make_shared<NcclBackend>(gpu, path_or(libraries.nccl, nccl_library)));
}

}  // namespace det::collectives::nccl::DET_GPU_API
