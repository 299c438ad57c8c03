// A fake libcuda.so for machines without a GPU, with only the functions that we call. The device memory is
// not accessible to the process. The device executes the queued copies when cuEventQuery is called for the
// second time for an event that was recorded after them. One stream at a time may be captured; a query of an
// event that was recorded on it makes the capture invalid, as it does on a device.
#include <cuda.h>
#include <deque>
#include <set>

#include "fake_device_memory.hpp"

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
    FakeDeviceMemory memory{std::size_t{1} << 20};
    std::deque<Copy> copies;
    std::size_t copies_queued = 0;
    std::set<void*> pinned;
    int contexts_pushed = 0;
    CUstream captured = nullptr;  // nullptr: none
    bool is_capture_valid = true;

    CUresult enqueue(void* to, void const* from, std::size_t size_bytes) {
        copies.push_back({to, from, size_bytes});
        ++copies_queued;
        return CUDA_SUCCESS;
    }
    void execute_until(std::size_t count) {
        while (copies_queued - copies.size() < count) {
            memory.copy(copies.front().to, copies.front().from, copies.front().size_bytes);
            copies.pop_front();
        }
    }
};

Device device;

void* pointer_of(CUdeviceptr at) { return reinterpret_cast<void*>(at); }

}  // namespace

extern "C" {
#pragma GCC visibility push(default)

CUresult cuGetErrorString(CUresult error, char const** text) {
    *text = error == CUDA_ERROR_INVALID_VALUE ? "invalid argument" : "another error";
    return CUDA_SUCCESS;
}

CUresult cuPointerGetAttribute(void* data, CUpointer_attribute, CUdeviceptr at) {
    if (!device.memory.holds(pointer_of(at))) return CUDA_ERROR_INVALID_VALUE;
    *static_cast<CUmemorytype*>(data) = CU_MEMORYTYPE_DEVICE;
    return CUDA_SUCCESS;
}

CUresult cuMemAllocAsync(CUdeviceptr* at, std::size_t size_bytes, CUstream) {
    *at = reinterpret_cast<CUdeviceptr>(device.memory.take(size_bytes));
    return *at != 0 ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
CUresult cuMemFreeAsync(CUdeviceptr, CUstream) { return CUDA_SUCCESS; }

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, std::size_t size_bytes, CUstream) {
    return device.enqueue(pointer_of(to), pointer_of(from), size_bytes);
}
CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, std::size_t size_bytes, CUstream) {
    if (device.memory.holds(to) || !device.memory.holds(pointer_of(from))) return CUDA_ERROR_INVALID_VALUE;
    return device.enqueue(to, pointer_of(from), size_bytes);
}
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, void const* from, std::size_t size_bytes, CUstream) {
    if (!device.memory.holds(pointer_of(to)) || device.memory.holds(from)) return CUDA_ERROR_INVALID_VALUE;
    return device.enqueue(pointer_of(to), from, size_bytes);
}

CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode) {
    device.captured = stream;
    device.is_capture_valid = true;
    return CUDA_SUCCESS;
}
CUresult cuStreamEndCapture(CUstream, CUgraph*) {
    device.captured = nullptr;
    return device.is_capture_valid ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
}
CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
    if (device.captured != nullptr && stream == nullptr) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    bool const is_capturing = device.captured != nullptr && stream == device.captured;
    *status = is_capturing ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent* event, unsigned) {
    *event = new CUevent_st;
    return CUDA_SUCCESS;
}
CUresult cuEventRecord(CUevent event, CUstream stream) {
    event->is_captured = stream != nullptr && stream == device.captured;
    event->copies_before = device.copies_queued;
    return CUDA_SUCCESS;
}
CUresult cuEventQuery(CUevent event) {
    if (event->is_captured) {
        device.is_capture_valid = false;
        return CUDA_ERROR_CAPTURED_EVENT;
    }
    if (!event->was_queried) {
        event->was_queried = true;
        return CUDA_ERROR_NOT_READY;
    }
    device.execute_until(event->copies_before);
    return CUDA_SUCCESS;
}
CUresult cuEventDestroy(CUevent event) {
    delete event;
    return CUDA_SUCCESS;
}

CUresult cuMemHostRegister(void* memory, std::size_t, unsigned) {
    return device.pinned.insert(memory).second ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuMemHostUnregister(void* memory) {
    if (device.contexts_pushed == 0) return CUDA_ERROR_INVALID_CONTEXT;
    return device.pinned.erase(memory) != 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuCtxGetCurrent(CUcontext* context) {
    *context = reinterpret_cast<CUcontext>(&device);
    return CUDA_SUCCESS;
}
CUresult cuCtxPushCurrent(CUcontext context) {
    if (context != reinterpret_cast<CUcontext>(&device)) return CUDA_ERROR_INVALID_CONTEXT;
    ++device.contexts_pushed;
    return CUDA_SUCCESS;
}
CUresult cuCtxPopCurrent(CUcontext* context) {
    --device.contexts_pushed;
    return cuCtxGetCurrent(context);
}

#pragma GCC visibility pop
}  // extern "C"
