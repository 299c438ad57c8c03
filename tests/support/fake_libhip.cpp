// A fake libamdhip64.so for machines without a GPU of AMD, with only the functions that we call. The device
// of fake_gpu.hpp has two numbers, so that tests see which one is current in a thread.
#include <hip/hip_runtime_api.h>
#include <utility>

#include "fake_gpu.hpp"

struct ihipStream_t {};
struct ihipEvent_t {
    FakeGpu::Event event;
};

namespace {

FakeGpu& device = fake_gpu();
constexpr int numbers = 2;
thread_local int current = 0;
thread_local hipError_t last_error = hipSuccess;  // HIP keeps it through later successes
std::map<void*, int> pinned_by;  // host memory and the number of the device; guarded by the device's mutex

hipError_t fail(hipError_t error) { return last_error = error; }

std::lock_guard<std::mutex> lock() { return std::lock_guard(device.mutex); }

hipError_t enqueue(void* to, void const* from, std::size_t size_bytes) {
    device.enqueue(to, from, size_bytes);
    return hipSuccess;
}

}  // namespace

extern "C" {
#pragma GCC visibility push(default)

char const* hipGetErrorString(hipError_t error) {
    return error == hipErrorInvalidValue ? "invalid argument" : "another error";
}
hipError_t hipGetLastError() { return std::exchange(last_error, hipSuccess); }
hipError_t hipGetDevice(int* number) {
    *number = current;
    return hipSuccess;
}
hipError_t hipSetDevice(int number) {
    if (number < 0 || number >= numbers) return hipErrorInvalidDevice;
    current = number;
    return hipSuccess;
}

hipError_t hipPointerGetAttribute(void* data, hipPointer_attribute, hipDeviceptr_t at) {
    auto const held = lock();
    if (!device.memory.holds(at) && !device.is_pinned(at)) return fail(hipErrorInvalidValue);
    *static_cast<hipMemoryType*>(data) = device.memory.holds(at) ? hipMemoryTypeDevice : hipMemoryTypeHost;
    return hipSuccess;
}

hipError_t hipMallocAsync(void** at, std::size_t size_bytes, hipStream_t) {
    auto const held = lock();
    if (size_bytes == 0) return hipErrorInvalidValue;
    *at = device.memory.take(size_bytes);
    return *at != nullptr ? hipSuccess : hipErrorOutOfMemory;
}
// Whatever uses the memory afterwards is later in the queue than what used it before.
hipError_t hipFreeAsync(void* at, hipStream_t) {
    auto const held = lock();
    return at == nullptr || device.memory.give_back(at) ? hipSuccess : hipErrorInvalidValue;
}

hipError_t hipMemcpyDtoDAsync(hipDeviceptr_t to, hipDeviceptr_t from, std::size_t size_bytes, hipStream_t) {
    auto const held = lock();
    return enqueue(to, from, size_bytes);
}
hipError_t hipMemcpyDtoHAsync(void* to, hipDeviceptr_t from, std::size_t size_bytes, hipStream_t) {
    auto const held = lock();
    return device.is_copy_to_host(to, from) ? enqueue(to, from, size_bytes) : hipErrorInvalidValue;
}
hipError_t hipMemcpyHtoDAsync(hipDeviceptr_t to, void* from, std::size_t size_bytes, hipStream_t) {
    auto const held = lock();
    return device.is_copy_to_device(to, from) ? enqueue(to, from, size_bytes) : hipErrorInvalidValue;
}

hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned) {
    *stream = new ihipStream_t;
    return hipSuccess;
}
hipError_t hipStreamDestroy(hipStream_t stream) {
    delete stream;
    return hipSuccess;
}
hipError_t hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode) {
    auto const held = lock();
    device.begin_capture(stream);
    return hipSuccess;
}
hipError_t hipStreamEndCapture(hipStream_t, hipGraph_t*) {
    auto const held = lock();
    return device.end_capture() ? hipSuccess : hipErrorStreamCaptureInvalidated;
}
hipError_t hipStreamIsCapturing(hipStream_t stream, hipStreamCaptureStatus* status) {
    auto const held = lock();
    auto const capture = device.capture_of(stream);
    if (capture == FakeGpu::Capture::other_stream) return fail(hipErrorStreamCaptureImplicit);
    bool const is_capturing = capture == FakeGpu::Capture::this_stream;
    *status = is_capturing ? hipStreamCaptureStatusActive : hipStreamCaptureStatusNone;
    return hipSuccess;
}

hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned) {
    *event = new ihipEvent_t;
    return hipSuccess;
}
hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) {
    auto const held = lock();
    device.record(event->event, stream);
    return hipSuccess;
}
hipError_t hipEventQuery(hipEvent_t event) {
    auto const held = lock();
    switch (device.query(event->event)) {
        case FakeGpu::EventState::done:
            return hipSuccess;
        case FakeGpu::EventState::not_ready:
            return hipErrorNotReady;
        case FakeGpu::EventState::captured:
            return hipErrorCapturedEvent;
        case FakeGpu::EventState::broken:
            break;
    }
    return hipErrorECCNotCorrectable;
}
hipError_t hipEventDestroy(hipEvent_t event) {
    delete event;
    return hipSuccess;
}

hipError_t hipHostRegister(void* host, std::size_t size_bytes, unsigned) {
    auto const held = lock();
    if (!device.pin(host, size_bytes)) return fail(hipErrorInvalidValue);
    pinned_by[host] = current;
    return hipSuccess;
}
/// Unlike HIP, fails if another device than that of hipHostRegister() is the current one.
hipError_t hipHostUnregister(void* host) {
    auto const held = lock();
    if (pinned_by[host] != current) return hipErrorInvalidContext;
    return device.unpin(host) ? hipSuccess : hipErrorHostMemoryNotRegistered;
}

#pragma GCC visibility pop
}  // extern "C"
