#include "gpu_device.hpp"

#include <fmt/format.h>
#include <optional>

namespace det::collectives::nccl::DET_GPU_API {
namespace {

Error gpu_error(GpuFunctions const& gpu, char const* what, GpuResult result) {
    forget_error(gpu);
    auto const* const text = error_text(gpu, result);
    if (text == nullptr)
        return Error{codes::transport, fmt::format("cannot {}: {} failed", what, driver_name)};
    return Error{codes::transport, fmt::format("cannot {}: {}", what, text)};
}

/// Makes a context the current one of this thread while it exists.
class ContextScope {
public:
    ContextScope(GpuFunctions const& gpu, GpuContext context)
        : gpu_(gpu), is_entered_(enter_context(gpu, context, before_)) {}
    ContextScope(ContextScope const&) = delete;
    ContextScope& operator=(ContextScope const&) = delete;
    ~ContextScope() {
        if (is_entered_) leave_context(gpu_, before_);
    }

private:
    GpuFunctions const& gpu_;
    GpuContext before_{};
    bool is_entered_;
};

class OwnedEvent final : public device::DeviceEvent {
public:
    OwnedEvent(Gpu gpu, GpuContext context, GpuEvent event)
        : gpu_(std::move(gpu)), context_(context), event_(event) {}
    ~OwnedEvent() override {
        ContextScope const scope(*gpu_, context_);
        static_cast<void>(gpu_->event_destroy(event_));
    }

    Result<bool> has_passed() override {
        auto state = gpu_->event_query(event_);
        if (state == gpu_invalid_context) {  // this thread has none
            ContextScope const scope(*gpu_, context_);
            state = gpu_->event_query(event_);
        }
        if (state == gpu_not_ready) return false;
        if (state != gpu_success) return gpu_error(*gpu_, "ask for an event", state);
        return true;
    }
    void* handle() const override { return event_; }

private:
    Gpu gpu_;
    GpuContext context_;
    GpuEvent event_;
};

class OwnedStream final : public device::DeviceStream {
public:
    OwnedStream(Gpu gpu, GpuContext context, GpuStream stream)
        : gpu_(std::move(gpu)), context_(context), stream_(stream) {}
    ~OwnedStream() override {
        ContextScope const scope(*gpu_, context_);
        static_cast<void>(gpu_->stream_destroy(stream_));
    }
    device::Stream handle() const override { return stream_; }

private:
    Gpu gpu_;
    GpuContext context_;
    GpuStream stream_;
};

class Scratch final : public device::DeviceScratch {
public:
    Scratch(Gpu gpu, GpuPointer memory, GpuStream stream)
        : gpu_(std::move(gpu)), memory_(memory), stream_(stream) {}
    ~Scratch() override { static_cast<void>(gpu_->free(memory_, stream_)); }

    void* data() const override { return reinterpret_cast<void*>(memory_); }

private:
    Gpu gpu_;
    GpuPointer memory_;
    GpuStream stream_;
};

/// Host memory that is registered with the driver.
class PinnedMemory {
public:
    PinnedMemory(Gpu gpu, GpuContext context, std::byte* memory)
        : gpu_(std::move(gpu)), context_(context), memory_(memory) {}
    PinnedMemory(PinnedMemory const&) = delete;
    PinnedMemory& operator=(PinnedMemory const&) = delete;
    ~PinnedMemory() {
        ContextScope const scope(*gpu_, context_);
        static_cast<void>(gpu_->unpin(memory_));
    }

private:
    Gpu gpu_;
    GpuContext context_;
    std::byte* memory_;
};

}  // namespace

Result<GpuContext> current_context(GpuFunctions const& gpu) {
    GpuContext context{};
    auto const asked = gpu.current_context(&context);
    if (asked != gpu_success) return gpu_error(gpu, "find the current device", asked);
    return context;
}

Result<std::unique_ptr<device::DeviceEvent>> record_event(Gpu const& gpu, GpuStream stream) {
    DET_TRY_ASSIGN(auto const context, current_context(*gpu));
    GpuEvent made = nullptr;
    auto const created = gpu->event_create(&made, gpu_event_without_timing);
    if (created != gpu_success) return gpu_error(*gpu, "make an event", created);
    auto event = std::make_unique<OwnedEvent>(gpu, context, made);
    auto const recorded = gpu->event_record(made, stream);
    if (recorded != gpu_success) return gpu_error(*gpu, "put an event on a stream", recorded);
    return Result<std::unique_ptr<device::DeviceEvent>>(std::move(event));
}

Result<std::unique_ptr<device::DeviceStream>> make_stream(Gpu const& gpu) {
    DET_TRY_ASSIGN(auto const context, current_context(*gpu));
    GpuStream stream = nullptr;
    auto const created = gpu->stream_create(&stream, gpu_stream_non_blocking);
    if (created != gpu_success) return gpu_error(*gpu, "make a stream", created);
    return Result<std::unique_ptr<device::DeviceStream>>(std::make_unique<OwnedStream>(gpu, context, stream));
}

Result<std::unique_ptr<device::DeviceScratch>> allocate(Gpu const& gpu, std::size_t size_bytes,
                                                        GpuStream stream) {
    GpuPointer memory{};
    auto const made = gpu->allocate(&memory, size_bytes, stream);
    if (made != gpu_success) return gpu_error(*gpu, "allocate memory on the device", made);
    return Result<std::unique_ptr<device::DeviceScratch>>(std::make_unique<Scratch>(gpu, memory, stream));
}

Result<tensor::PinGuard> pin(Gpu const& gpu, std::span<std::byte> host) {
    DET_TRY_ASSIGN(auto const context, current_context(*gpu));
    auto const made = gpu->pin(host.data(), host.size(), gpu_register_portable);
    if (made != gpu_success) return gpu_error(*gpu, "pin memory of the host", made);
    return tensor::PinGuard(std::make_shared<PinnedMemory>(gpu, context, host.data()));
}

Status copy(GpuFunctions const& gpu, tensor::CopyDirection to, tensor::DeviceCopy const& copy,
            GpuStream stream) {
    bool const is_to_host = to == tensor::CopyDirection::to_host;
    auto const put = is_to_host ? gpu.copy_to_host(copy.to, gpu_pointer(copy.from), copy.size_bytes, stream)
                                : gpu.copy_to_device(gpu_pointer(copy.to), const_cast<void*>(copy.from),
                                                     copy.size_bytes, stream);
    if (put == gpu_success) return Ok{};
    return gpu_error(
        gpu, is_to_host ? "copy memory of the device to the host" : "copy memory of the host to the device",
        put);
}

bool is_device_memory(GpuFunctions const& gpu, void const* memory) {
    GpuMemoryType type{};
    auto const asked = gpu.pointer_attribute(&type, gpu_attribute_memory_type, gpu_pointer(memory));
    if (asked == gpu_success) return type == gpu_device_memory;
    forget_error(gpu);  // the driver does not know memory of the host
    return false;
}

Result<bool> is_capturing(GpuFunctions const& gpu, GpuStream stream) {
    GpuCaptureStatus status = gpu_not_capturing;
    auto const asked = gpu.is_capturing(stream, &status);
    // The answer for the default stream while a stream that synchronises with it captures.
    if (asked == gpu_capture_implicit) {
        forget_error(gpu);
        return true;
    }
    if (asked != gpu_success) return gpu_error(gpu, "ask about a stream", asked);
    return status != gpu_not_capturing;
}

}  // namespace det::collectives::nccl::DET_GPU_API
