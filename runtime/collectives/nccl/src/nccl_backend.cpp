#include <det/collectives/nccl/nccl_backend.hpp>

#include <cstring>
#include <fmt/format.h>

#include "libraries.hpp"
#include "nccl_communicator.hpp"

namespace det::collectives::nccl {
namespace {

using collectives::device::DeviceBackend;
using collectives::device::DeviceCommunicator;
using collectives::device::DeviceEvent;
using collectives::device::DeviceScratch;

Error cuda_error(CudaFunctions const& cuda, char const* what, CUresult result) {
    char const* words = nullptr;
    cuda.error_string(result, &words);
    return Error{codes::transport,
                 fmt::format("cannot {}: {}", what, words != nullptr ? words : "CUDA failed")};
}

class NcclEvent final : public DeviceEvent {
public:
    static Result<std::unique_ptr<DeviceEvent>> record(std::shared_ptr<Functions const> functions,
                                                       CUstream stream) {
        std::unique_ptr<NcclEvent> event(new NcclEvent(std::move(functions)));
        auto const& cuda = event->functions_->cuda;
        auto const made = cuda.event_create(&event->event_, CU_EVENT_DISABLE_TIMING);
        if (made != CUDA_SUCCESS) return cuda_error(cuda, "make an event", made);
        auto const recorded = cuda.event_record(event->event_, stream);
        if (recorded != CUDA_SUCCESS) return cuda_error(cuda, "put an event on a stream", recorded);
        return Result<std::unique_ptr<DeviceEvent>>(std::move(event));
    }
    ~NcclEvent() override {
        if (event_ != nullptr) static_cast<void>(functions_->cuda.event_destroy(event_));
    }

    Result<bool> has_passed() override {
        auto const state = functions_->cuda.event_query(event_);
        if (state == CUDA_ERROR_NOT_READY) return false;
        if (state != CUDA_SUCCESS) return cuda_error(functions_->cuda, "ask for an event", state);
        return true;
    }
    void* handle() const override { return event_; }

private:
    explicit NcclEvent(std::shared_ptr<Functions const> functions) : functions_(std::move(functions)) {}

    std::shared_ptr<Functions const> functions_;
    CUevent event_ = nullptr;
};

class NcclScratch final : public DeviceScratch {
public:
    static Result<std::unique_ptr<DeviceScratch>> allocate(std::shared_ptr<Functions const> functions,
                                                           std::size_t size_bytes, CUstream stream) {
        std::unique_ptr<NcclScratch> scratch(new NcclScratch(std::move(functions), stream));
        auto const& cuda = scratch->functions_->cuda;
        auto const made = cuda.allocate(&scratch->memory_, size_bytes, stream);
        if (made != CUDA_SUCCESS) return cuda_error(cuda, "allocate memory on the device", made);
        return Result<std::unique_ptr<DeviceScratch>>(std::move(scratch));
    }
    ~NcclScratch() override {
        if (memory_ != 0) static_cast<void>(functions_->cuda.free(memory_, stream_));
    }

    void* data() const override { return reinterpret_cast<void*>(memory_); }

private:
    NcclScratch(std::shared_ptr<Functions const> functions, CUstream stream)
        : functions_(std::move(functions)), stream_(stream) {}

    std::shared_ptr<Functions const> functions_;
    CUstream stream_;
    CUdeviceptr memory_ = 0;
};

/// Host memory that is registered with the driver. It keeps its CUDA context, because the thread that
/// releases the memory may have no current context.
class NcclPinned {
public:
    static Result<tensor::PinGuard> pin(std::shared_ptr<Functions const> functions,
                                        std::span<std::byte> host) {
        std::shared_ptr<NcclPinned> pinned(new NcclPinned(std::move(functions)));
        auto const& cuda = pinned->functions_->cuda;
        auto const asked = cuda.current_context(&pinned->context_);
        if (asked != CUDA_SUCCESS) return cuda_error(cuda, "find the current device", asked);
        auto const made = cuda.pin(host.data(), host.size(), CU_MEMHOSTREGISTER_PORTABLE);
        if (made != CUDA_SUCCESS) return cuda_error(cuda, "pin memory of the host", made);
        pinned->memory_ = host.data();
        return tensor::PinGuard(std::move(pinned));
    }
    NcclPinned(NcclPinned const&) = delete;
    NcclPinned& operator=(NcclPinned const&) = delete;
    ~NcclPinned() {
        auto const& cuda = functions_->cuda;
        if (memory_ == nullptr || cuda.push_context(context_) != CUDA_SUCCESS) return;
        static_cast<void>(cuda.unpin(memory_));
        CUcontext popped = nullptr;
        static_cast<void>(cuda.pop_context(&popped));
    }

private:
    explicit NcclPinned(std::shared_ptr<Functions const> functions) : functions_(std::move(functions)) {}

    std::shared_ptr<Functions const> functions_;
    CUcontext context_ = nullptr;
    std::byte* memory_ = nullptr;
};

Status copy_to_host(CudaFunctions const& cuda, tensor::DeviceCopy const& copy, CUstream stream) {
    auto const put =
        cuda.copy_to_host(copy.to, reinterpret_cast<CUdeviceptr>(copy.from), copy.size_bytes, stream);
    if (put == CUDA_SUCCESS) return Ok{};
    return cuda_error(cuda, "copy memory of the device to the host", put);
}

Status copy_to_device(CudaFunctions const& cuda, tensor::DeviceCopy const& copy, CUstream stream) {
    auto const put =
        cuda.copy_to_device(reinterpret_cast<CUdeviceptr>(copy.to), copy.from, copy.size_bytes, stream);
    if (put == CUDA_SUCCESS) return Ok{};
    return cuda_error(cuda, "copy memory of the host to the device", put);
}

class NcclBackend final : public DeviceBackend {
public:
    explicit NcclBackend(Functions const& functions)
        : functions_(std::make_shared<Functions const>(functions)) {}

    bool is_device_memory(void const* memory) const override {
        CUmemorytype type{};
        auto const asked = functions_->cuda.pointer_attribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                                              reinterpret_cast<CUdeviceptr>(memory));
        return asked == CUDA_SUCCESS &&
               type == CU_MEMORYTYPE_DEVICE;  // the query fails for memory that CUDA does not know
    }

    Result<bool> is_capturing(Stream stream) const override {
        CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
        auto const asked = functions_->cuda.is_capturing(static_cast<CUstream>(stream), &status);
        // The answer for the default stream while a stream that synchronises with it captures.
        if (asked == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) return true;
        if (asked != CUDA_SUCCESS) return cuda_error(functions_->cuda, "ask about a stream", asked);
        return status != CU_STREAM_CAPTURE_STATUS_NONE;
    }

    Result<std::string> make_id() override {
        ncclUniqueId id{};
        auto const made = functions_->nccl.get_unique_id(&id);
        if (made != ncclSuccess) {
            return Error{codes::transport,
                         fmt::format("NCCL cannot begin: {}", functions_->nccl.get_error_string(made))};
        }
        return std::string(id.internal, sizeof id.internal);
    }

    Result<std::unique_ptr<DeviceCommunicator>> begin_connect(std::string const& text, Rank rank,
                                                              int ranks) override {
        ncclUniqueId id{};
        if (text.size() != sizeof id.internal) {
            return Error{codes::transport, "what the chief says of NCCL is no id of it",
                         "start all ranks from the same version of the program"};
        }
        std::memcpy(id.internal, text.data(), text.size());
        return NcclCommunicator::begin(functions_, id, rank, ranks);
    }

    Result<std::unique_ptr<DeviceScratch>> allocate(std::size_t size_bytes, Stream stream) override {
        return NcclScratch::allocate(functions_, size_bytes, static_cast<CUstream>(stream));
    }

    Result<tensor::PinGuard> pin(std::span<std::byte> host) override {
        return NcclPinned::pin(functions_, host);
    }

    Status copy(tensor::CopyDirection to, tensor::DeviceCopy const& copy, Stream stream) override {
        auto* const put = to == tensor::CopyDirection::to_host ? copy_to_host : copy_to_device;
        return put(functions_->cuda, copy, static_cast<CUstream>(stream));
    }

    Result<std::unique_ptr<DeviceEvent>> record(Stream stream) override {
        return NcclEvent::record(functions_, static_cast<CUstream>(stream));
    }

private:
    std::shared_ptr<Functions const> functions_;
};

}  // namespace

Result<std::shared_ptr<DeviceBackend>> open_nccl(Libraries const& libraries) {
    DET_TRY_ASSIGN(auto const functions, load(libraries));
    return Result<std::shared_ptr<DeviceBackend>>(std::make_shared<NcclBackend>(functions));
}

}  // namespace det::collectives::nccl
