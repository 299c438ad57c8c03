// A fake libcuda.so for machines without a GPU, with only the functions that we and our checks of GPUs call.
// Its device is that of fake_gpu.hpp, whose context is current in every thread from the start.
#include <cstdlib>
#include <cuda.h>
#include <string_view>

#include "fake_gpu.hpp"

struct CUstream_st {};
struct CUevent_st {
    FakeGpu::Event event;
};

namespace {

FakeGpu& device = fake_gpu();
int contexts_pushed = 0;  // guarded by the device's mutex
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
CUresult enqueue(void* to, void const* from, std::size_t size_bytes) {
    device.enqueue(to, from, size_bytes);
    return CUDA_SUCCESS;
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
    if (!device.is_copy_to_device(pointer_of(to), from)) return CUDA_ERROR_INVALID_VALUE;
    device.execute_all();
    device.memory.copy(pointer_of(to), from, size_bytes);
    return CUDA_SUCCESS;
}
CUresult cuMemcpyDtoH(void* to, CUdeviceptr from, std::size_t size_bytes) {
    auto const held = lock();
    if (!device.is_copy_to_host(to, pointer_of(from))) return CUDA_ERROR_INVALID_VALUE;
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
    return enqueue(pointer_of(to), pointer_of(from), size_bytes);
}
CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, std::size_t size_bytes, CUstream) {
    auto const held = lock();
    if (!device.is_copy_to_host(to, pointer_of(from))) return CUDA_ERROR_INVALID_VALUE;
    return enqueue(to, pointer_of(from), size_bytes);
}
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, void const* from, std::size_t size_bytes, CUstream) {
    auto const held = lock();
    if (!device.is_copy_to_device(pointer_of(to), from)) return CUDA_ERROR_INVALID_VALUE;
    return enqueue(pointer_of(to), from, size_bytes);
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
    device.begin_capture(stream);
    return CUDA_SUCCESS;
}
CUresult cuStreamEndCapture(CUstream, CUgraph*) {
    auto const held = lock();
    return device.end_capture() ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
}
CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
    auto const held = lock();
    auto const capture = device.capture_of(stream);
    if (capture == FakeGpu::Capture::other_stream) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    bool const is_capturing = capture == FakeGpu::Capture::this_stream;
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
    device.record(event->event, stream);
    return CUDA_SUCCESS;
}
CUresult cuEventQuery(CUevent event) {
    auto const held = lock();
    switch (device.query(event->event)) {
        case FakeGpu::EventState::done:
            return CUDA_SUCCESS;
        case FakeGpu::EventState::not_ready:
            return CUDA_ERROR_NOT_READY;
        case FakeGpu::EventState::captured:
            return CUDA_ERROR_CAPTURED_EVENT;
        case FakeGpu::EventState::broken:
            break;
    }
    return CUDA_ERROR_ECC_UNCORRECTABLE;
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
    if (contexts_pushed == 0) return CUDA_ERROR_INVALID_CONTEXT;
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
    ++contexts_pushed;
    return CUDA_SUCCESS;
}
CUresult cuCtxPopCurrent(CUcontext* context) {
    auto const held = lock();
    --contexts_pushed;
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
