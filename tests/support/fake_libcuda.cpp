// A fake libcuda.so for machines without a GPU, with only the functions that we and our checks of GPUs call.
// It has one device, whose context is current in every thread from the start. The device memory is not
// accessible to the process. All streams are one queue; the device executes it up to an event when
// cuEventQuery is called for the second time for that event, and whole when something is synchronised. It
// stops before a copy from memory that fakeHoldCopiesFrom() holds, or that fakeBreakCopiesFrom() has broken.
// One stream at a time may be captured; a query of an event that was recorded on it makes the capture
// invalid, as it does on a device.
#include <cstdlib>
#include <cuda.h>
#include <deque>
#include <map>
#include <mutex>
#include <string_view>

#include "fake_device_memory.hpp"

struct CUstream_st {};
struct CUevent_st {
    std::size_t copies_before = 0;
    bool was_queried = false;
    bool is_captured = false;
};

namespace {

struct Copy {
    void* to;
    void const* from;
    std::size_t size_bytes;
};

struct Device {
    std::mutex mutex;  // held in every function below
    FakeDeviceMemory memory{std::size_t{256} << 20};
    std::deque<Copy> copies;
    std::size_t copies_queued = 0;
    std::map<std::byte const*, std::size_t> pinned;  // host memory and its size
    int contexts_pushed = 0;
    CUstream captured = nullptr;  // nullptr: none
    bool is_capture_valid = true;
    void const* held = nullptr;    // nullptr: nothing
    void const* broken = nullptr;  // nullptr: nothing

    CUresult enqueue(void* to, void const* from, std::size_t size_bytes) {
        copies.push_back({to, from, size_bytes});
        ++copies_queued;
        return CUDA_SUCCESS;
    }
    bool has_executed(std::size_t count) const { return copies_queued - copies.size() >= count; }
    bool stops_at(void const* from) const { return from == held || from == broken; }
    void execute_until(std::size_t count) {
        while (!has_executed(count) && !stops_at(copies.front().from)) {
            memory.copy(copies.front().to, copies.front().from, copies.front().size_bytes);
            copies.pop_front();
        }
    }
    void execute_all() { execute_until(copies_queued); }
    bool pin(void* host, std::size_t size_bytes) {
        return pinned.emplace(static_cast<std::byte const*>(host), size_bytes).second;
    }
    bool unpin(void* host) { return pinned.erase(static_cast<std::byte const*>(host)) != 0; }
    bool is_pinned(void const* host) const {
        auto const* const at = static_cast<std::byte const*>(host);
        auto const after = pinned.upper_bound(at);
        return after != pinned.begin() && at < std::prev(after)->first + std::prev(after)->second;
    }
};

Device device;
constexpr char device_name[] = "Fake GPU";

std::lock_guard<std::mutex> lock() { return std::lock_guard(device.mutex); }

void* pointer_of(CUdeviceptr at) { return reinterpret_cast<void*>(at); }
CUcontext context_of_device() { return reinterpret_cast<CUcontext>(&device); }

CUresult allocate(CUdeviceptr* at, std::size_t size_bytes) {
    if (size_bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    *at = reinterpret_cast<CUdeviceptr>(device.memory.take(size_bytes));
    return *at != 0 ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
CUresult give_back(CUdeviceptr at) {
    return at == 0 || device.memory.give_back(pointer_of(at)) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
bool is_copy_to_host(void const* to, CUdeviceptr from) {
    return !device.memory.holds(to) && device.memory.holds(pointer_of(from));
}
bool is_copy_to_device(CUdeviceptr to, void const* from) {
    return device.memory.holds(pointer_of(to)) && !device.memory.holds(from);
}

}  // namespace

extern "C" {
#pragma GCC visibility push(default)

CUresult cuInit(unsigned flags) { return flags == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; }
CUresult cuDriverGetVersion(int* version) {
    *version = CUDA_VERSION;
    return CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult error, char const** text) {
    *text = error == CUDA_ERROR_INVALID_VALUE ? "invalid argument" : "another error";
    return CUDA_SUCCESS;
}

/// Copies from this address, and those behind them, wait until another address is held; 0: none.
void fakeHoldCopiesFrom(CUdeviceptr from) {
    auto const held = lock();
    device.held = pointer_of(from);
}
/// Copies from this address never end, and queries of events behind them fail; 0: none.
void fakeBreakCopiesFrom(CUdeviceptr from) {
    auto const held = lock();
    device.broken = pointer_of(from);
}

CUresult cuDeviceGetCount(int* count) {
    *count = 1;
    return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice* found, int index) {
    *found = 0;
    return index == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
CUresult cuDeviceGetName(char* name, int size, CUdevice) {
    if (size <= 0) return CUDA_ERROR_INVALID_VALUE;
    name[std::string_view(device_name).copy(name, static_cast<std::size_t>(size) - 1)] = '\0';
    return CUDA_SUCCESS;
}
CUresult cuMemGetInfo(std::size_t* free, std::size_t* total) {
    auto const held = lock();
    *free = device.memory.free_bytes();
    *total = device.memory.size_bytes();
    return CUDA_SUCCESS;
}

CUresult cuPointerGetAttribute(void* data, CUpointer_attribute, CUdeviceptr at) {
    auto const held = lock();
    auto const* const memory = pointer_of(at);
    if (!device.memory.holds(memory) && !device.is_pinned(memory)) return CUDA_ERROR_INVALID_VALUE;
    *static_cast<CUmemorytype*>(data) =
        device.memory.holds(memory) ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
    return CUDA_SUCCESS;
}

CUresult cuMemAlloc(CUdeviceptr* at, std::size_t size_bytes) {
    auto const held = lock();
    return allocate(at, size_bytes);
}
CUresult cuMemFree(CUdeviceptr at) {
    auto const held = lock();
    device.execute_all();
    return give_back(at);
}
CUresult cuMemAllocAsync(CUdeviceptr* at, std::size_t size_bytes, CUstream) {
    auto const held = lock();
    return allocate(at, size_bytes);
}
// Whatever uses the memory afterwards is later in the queue than what used it before.
CUresult cuMemFreeAsync(CUdeviceptr at, CUstream) {
    auto const held = lock();
    return give_back(at);
}

CUresult cuMemcpyHtoD(CUdeviceptr to, void const* from, std::size_t size_bytes) {
    auto const held = lock();
    if (!is_copy_to_device(to, from)) return CUDA_ERROR_INVALID_VALUE;
    device.execute_all();
    device.memory.copy(pointer_of(to), from, size_bytes);
    return CUDA_SUCCESS;
}
CUresult cuMemcpyDtoH(void* to, CUdeviceptr from, std::size_t size_bytes) {
    auto const held = lock();
    if (!is_copy_to_host(to, from)) return CUDA_ERROR_INVALID_VALUE;
    device.execute_all();
    device.memory.copy(to, pointer_of(from), size_bytes);
    return CUDA_SUCCESS;
}
CUresult cuMemsetD8(CUdeviceptr to, unsigned char value, std::size_t size_bytes) {
    auto const held = lock();
    if (!device.memory.holds(pointer_of(to))) return CUDA_ERROR_INVALID_VALUE;
    device.execute_all();
    device.memory.fill(pointer_of(to), value, size_bytes);
    return CUDA_SUCCESS;
}
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, std::size_t size_bytes, CUstream) {
    auto const held = lock();
    return device.enqueue(pointer_of(to), pointer_of(from), size_bytes);
}
CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, std::size_t size_bytes, CUstream) {
    auto const held = lock();
    if (!is_copy_to_host(to, from)) return CUDA_ERROR_INVALID_VALUE;
    return device.enqueue(to, pointer_of(from), size_bytes);
}
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, void const* from, std::size_t size_bytes, CUstream) {
    auto const held = lock();
    if (!is_copy_to_device(to, from)) return CUDA_ERROR_INVALID_VALUE;
    return device.enqueue(pointer_of(to), from, size_bytes);
}

CUresult cuStreamCreate(CUstream* stream, unsigned) {
    *stream = new CUstream_st;
    return CUDA_SUCCESS;
}
CUresult cuStreamDestroy(CUstream stream) {
    delete stream;
    return CUDA_SUCCESS;
}
CUresult cuStreamSynchronize(CUstream) {
    auto const held = lock();
    device.execute_all();
    return CUDA_SUCCESS;
}
CUresult cuStreamWaitEvent(CUstream, CUevent, unsigned) { return CUDA_SUCCESS; }  // all streams are one queue
CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode) {
    auto const held = lock();
    device.captured = stream;
    device.is_capture_valid = true;
    return CUDA_SUCCESS;
}
CUresult cuStreamEndCapture(CUstream, CUgraph*) {
    auto const held = lock();
    device.captured = nullptr;
    return device.is_capture_valid ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
}
CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
    auto const held = lock();
    if (device.captured != nullptr && stream == nullptr) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    bool const is_capturing = device.captured != nullptr && stream == device.captured;
    *status = is_capturing ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
}
CUresult cuGraphDestroy(CUgraph) { return CUDA_SUCCESS; }

CUresult cuEventCreate(CUevent* event, unsigned) {
    *event = new CUevent_st;
    return CUDA_SUCCESS;
}
CUresult cuEventRecord(CUevent event, CUstream stream) {
    auto const held = lock();
    event->is_captured = stream != nullptr && stream == device.captured;
    event->copies_before = device.copies_queued;
    return CUDA_SUCCESS;
}
CUresult cuEventQuery(CUevent event) {
    auto const held = lock();
    if (event->is_captured) {
        device.is_capture_valid = false;
        return CUDA_ERROR_CAPTURED_EVENT;
    }
    if (!event->was_queried) {
        event->was_queried = true;
        return CUDA_ERROR_NOT_READY;
    }
    device.execute_until(event->copies_before);
    if (device.has_executed(event->copies_before)) return CUDA_SUCCESS;
    return device.copies.front().from == device.broken ? CUDA_ERROR_ECC_UNCORRECTABLE : CUDA_ERROR_NOT_READY;
}
CUresult cuEventDestroy(CUevent event) {
    delete event;
    return CUDA_SUCCESS;
}

CUresult cuMemHostAlloc(void** host, std::size_t size_bytes, unsigned) {
    auto const held = lock();
    *host = std::malloc(size_bytes);
    return *host != nullptr && device.pin(*host, size_bytes) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
CUresult cuMemFreeHost(void* host) {
    auto const held = lock();
    device.execute_all();
    if (!device.unpin(host)) return CUDA_ERROR_INVALID_VALUE;
    std::free(host);
    return CUDA_SUCCESS;
}
CUresult cuMemHostRegister(void* host, std::size_t size_bytes, unsigned) {
    auto const held = lock();
    return device.pin(host, size_bytes) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuMemHostUnregister(void* host) {
    auto const held = lock();
    if (device.contexts_pushed == 0) return CUDA_ERROR_INVALID_CONTEXT;
    return device.unpin(host) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) {
    *context = context_of_device();
    return CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext context) {
    return context == context_of_device() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}
CUresult cuCtxGetCurrent(CUcontext* context) {
    *context = context_of_device();
    return CUDA_SUCCESS;
}
CUresult cuCtxPushCurrent(CUcontext context) {
    auto const held = lock();
    if (context != context_of_device()) return CUDA_ERROR_INVALID_CONTEXT;
    ++device.contexts_pushed;
    return CUDA_SUCCESS;
}
CUresult cuCtxPopCurrent(CUcontext* context) {
    auto const held = lock();
    --device.contexts_pushed;
    *context = context_of_device();
    return CUDA_SUCCESS;
}
CUresult cuCtxSynchronize() {
    auto const held = lock();
    device.execute_all();
    return CUDA_SUCCESS;
}

#pragma GCC visibility pop
}  // extern "C"
