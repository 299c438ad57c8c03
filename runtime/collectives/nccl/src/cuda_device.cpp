#include "cuda_device.hpp"

#include <fmt/format.h>
#include <optional>

namespace det::collectives::nccl {
namespace {

Error cuda_error(CudaFunctions const& cuda, char const* what, CUresult result) {
    char const* words = nullptr;
    cuda.error_string(result, &words);
    return Error{codes::transport,
                 fmt::format("cannot {}: {}", what, words != nullptr ? words : "CUDA failed")};
}

Result<CUcontext> current_context(CudaFunctions const& cuda) {
    CUcontext context = nullptr;
    auto const asked = cuda.current_context(&context);
    if (asked != CUDA_SUCCESS) return cuda_error(cuda, "find the current device", asked);
    return context;
}

/// Makes a context the current one of this thread while it exists.
class ContextScope {
public:
    ContextScope(CudaFunctions const& cuda, CUcontext context)
        : cuda_(cuda), is_pushed_(cuda.push_context(context) == CUDA_SUCCESS) {}
    ContextScope(ContextScope const&) = delete;
    ContextScope& operator=(ContextScope const&) = delete;
    ~ContextScope() {
        CUcontext popped = nullptr;
        if (is_pushed_) static_cast<void>(cuda_.pop_context(&popped));
    }

private:
    CudaFunctions const& cuda_;
    bool is_pushed_;
};

class CudaEvent final : public device::DeviceEvent {
public:
    CudaEvent(Cuda cuda, CUcontext context, CUevent event)
        : cuda_(std::move(cuda)), context_(context), event_(event) {}
    ~CudaEvent() override {
        ContextScope const scope(*cuda_, context_);
        static_cast<void>(cuda_->event_destroy(event_));
    }

    Result<bool> has_passed() override {
        auto state = cuda_->event_query(event_);
        if (state == CUDA_ERROR_INVALID_CONTEXT) {  // this thread has none
            ContextScope const scope(*cuda_, context_);
            state = cuda_->event_query(event_);
        }
        if (state == CUDA_ERROR_NOT_READY) return false;
        if (state != CUDA_SUCCESS) return cuda_error(*cuda_, "ask for an event", state);
        return true;
    }
    void* handle() const override { return event_; }

private:
    Cuda cuda_;
    CUcontext context_;
    CUevent event_;
};

class CudaStream final : public device::DeviceStream {
public:
    CudaStream(Cuda cuda, CUcontext context, CUstream stream)
        : cuda_(std::move(cuda)), context_(context), stream_(stream) {}
    ~CudaStream() override {
        ContextScope const scope(*cuda_, context_);
        static_cast<void>(cuda_->stream_destroy(stream_));
    }
    device::Stream handle() const override { return stream_; }

private:
    Cuda cuda_;
    CUcontext context_;
    CUstream stream_;
};

class CudaScratch final : public device::DeviceScratch {
public:
    CudaScratch(Cuda cuda, CUdeviceptr memory, CUstream stream)
        : cuda_(std::move(cuda)), memory_(memory), stream_(stream) {}
    ~CudaScratch() override { static_cast<void>(cuda_->free(memory_, stream_)); }

    void* data() const override { return reinterpret_cast<void*>(memory_); }

private:
    Cuda cuda_;
    CUdeviceptr memory_;
    CUstream stream_;
};

/// Host memory that is registered with the driver.
class CudaPinned {
public:
    CudaPinned(Cuda cuda, CUcontext context, std::byte* memory)
        : cuda_(std::move(cuda)), context_(context), memory_(memory) {}
    CudaPinned(CudaPinned const&) = delete;
    CudaPinned& operator=(CudaPinned const&) = delete;
    ~CudaPinned() {
        ContextScope const scope(*cuda_, context_);
        static_cast<void>(cuda_->unpin(memory_));
    }

private:
    Cuda cuda_;
    CUcontext context_;
    std::byte* memory_;
};

}  // namespace

Result<std::unique_ptr<device::DeviceEvent>> record_event(Cuda const& cuda, CUstream stream) {
    DET_TRY_ASSIGN(auto* const context, current_context(*cuda));
    CUevent made = nullptr;
    auto const created = cuda->event_create(&made, CU_EVENT_DISABLE_TIMING);
    if (created != CUDA_SUCCESS) return cuda_error(*cuda, "make an event", created);
    auto event = std::make_unique<CudaEvent>(cuda, context, made);
    auto const recorded = cuda->event_record(made, stream);
    if (recorded != CUDA_SUCCESS) return cuda_error(*cuda, "put an event on a stream", recorded);
    return Result<std::unique_ptr<device::DeviceEvent>>(std::move(event));
}

Result<std::unique_ptr<device::DeviceStream>> make_stream(Cuda const& cuda) {
    DET_TRY_ASSIGN(auto* const context, current_context(*cuda));
    CUstream stream = nullptr;
    auto const created = cuda->stream_create(&stream, CU_STREAM_NON_BLOCKING);
    if (created != CUDA_SUCCESS) return cuda_error(*cuda, "make a stream", created);
    return Result<std::unique_ptr<device::DeviceStream>>(std::make_unique<CudaStream>(cuda, context, stream));
}

Result<std::unique_ptr<device::DeviceScratch>> allocate(Cuda const& cuda, std::size_t size_bytes,
                                                        CUstream stream) {
    CUdeviceptr memory = 0;
    auto const made = cuda->allocate(&memory, size_bytes, stream);
    if (made != CUDA_SUCCESS) return cuda_error(*cuda, "allocate memory on the device", made);
    return Result<std::unique_ptr<device::DeviceScratch>>(
        std::make_unique<CudaScratch>(cuda, memory, stream));
}

Result<tensor::PinGuard> pin(Cuda const& cuda, std::span<std::byte> host) {
    DET_TRY_ASSIGN(auto* const context, current_context(*cuda));
    auto const made = cuda->pin(host.data(), host.size(), CU_MEMHOSTREGISTER_PORTABLE);
    if (made != CUDA_SUCCESS) return cuda_error(*cuda, "pin memory of the host", made);
    return tensor::PinGuard(std::make_shared<CudaPinned>(cuda, context, host.data()));
}

Status copy(CudaFunctions const& cuda, tensor::CopyDirection to, tensor::DeviceCopy const& copy,
            CUstream stream) {
    bool const is_to_host = to == tensor::CopyDirection::to_host;
    auto const put =
        is_to_host
            ? cuda.copy_to_host(copy.to, reinterpret_cast<CUdeviceptr>(copy.from), copy.size_bytes, stream)
            : cuda.copy_to_device(reinterpret_cast<CUdeviceptr>(copy.to), copy.from, copy.size_bytes, stream);
    if (put == CUDA_SUCCESS) return Ok{};
    return cuda_error(
        cuda, is_to_host ? "copy memory of the device to the host" : "copy memory of the host to the device",
        put);
}

bool is_device_memory(CudaFunctions const& cuda, void const* memory) {
    CUmemorytype type{};
    auto const asked = cuda.pointer_attribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                              reinterpret_cast<CUdeviceptr>(memory));
    return asked == CUDA_SUCCESS &&
           type == CU_MEMORYTYPE_DEVICE;  // the query fails for memory that CUDA does not know
}

Result<bool> is_capturing(CudaFunctions const& cuda, CUstream stream) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    auto const asked = cuda.is_capturing(stream, &status);
    // The answer for the default stream while a stream that synchronises with it captures.
    if (asked == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) return true;
    if (asked != CUDA_SUCCESS) return cuda_error(cuda, "ask about a stream", asked);
    return status != CU_STREAM_CAPTURE_STATUS_NONE;
}

}  // namespace det::collectives::nccl
