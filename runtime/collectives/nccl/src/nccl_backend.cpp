#include <det/collectives/nccl/nccl_backend.hpp>

#include <cstring>
#include <fmt/format.h>

#include "cuda_device.hpp"
#include "nccl_communicator.hpp"

namespace det::collectives::nccl {
namespace {

using collectives::device::DeviceBackend;
using collectives::device::DeviceCommunicator;
using collectives::device::DeviceEvent;
using collectives::device::DeviceScratch;
using collectives::device::DeviceStream;

class NcclBackend final : public DeviceBackend {
public:
    NcclBackend(CudaFunctions const& cuda, std::filesystem::path nccl)
        : cuda_(std::make_shared<CudaFunctions const>(cuda)), nccl_path_(std::move(nccl)) {}

    bool is_device_memory(void const* memory) const override {
        return nccl::is_device_memory(*cuda_, memory);
    }
    Result<bool> is_capturing(Stream stream) const override {
        return nccl::is_capturing(*cuda_, static_cast<CUstream>(stream));
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
                         fmt::format("NCCL cannot begin: {}", nccl_->get_error_string(made))};
        }
        return std::string(id.internal, sizeof id.internal);
    }

    Result<std::unique_ptr<DeviceCommunicator>> begin_connect(std::string const& text, Rank rank,
                                                              int ranks) override {
        DET_TRY(load_communication_library());
        ncclUniqueId id{};
        if (text.size() != sizeof id.internal) {
            return Error{codes::transport, "what the chief says of NCCL is no id of it",
                         "start all ranks from the same version of the program"};
        }
        std::memcpy(id.internal, text.data(), text.size());
        return NcclCommunicator::begin({nccl_, cuda_}, id, rank, ranks);
    }

    Result<std::unique_ptr<DeviceScratch>> allocate(std::size_t size_bytes, Stream stream) override {
        return nccl::allocate(cuda_, size_bytes, static_cast<CUstream>(stream));
    }
    Result<tensor::PinGuard> pin(std::span<std::byte> host) override { return nccl::pin(cuda_, host); }
    Status copy(tensor::CopyDirection to, tensor::DeviceCopy const& copy, Stream stream) override {
        return nccl::copy(*cuda_, to, copy, static_cast<CUstream>(stream));
    }
    Result<std::unique_ptr<DeviceStream>> make_stream() override { return nccl::make_stream(cuda_); }
    Result<std::unique_ptr<DeviceEvent>> record(Stream stream) override {
        return record_event(cuda_, static_cast<CUstream>(stream));
    }

private:
    Cuda cuda_;
    std::filesystem::path nccl_path_;
    std::shared_ptr<NcclFunctions const> nccl_;  // null until the devices are connected
};

}  // namespace

Result<std::shared_ptr<DeviceBackend>> open_nccl(Libraries const& libraries) {
    DET_TRY_ASSIGN(auto const cuda, load_cuda(libraries.cuda_driver));
    return Result<std::shared_ptr<DeviceBackend>>(std::make_shared<NcclBackend>(cuda, libraries.nccl));
}

}  // namespace det::collectives::nccl
