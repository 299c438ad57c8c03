#pragma once
// AMD: HIP and RCCL.
#include <hip/hip_runtime_api.h>
#include <rccl/rccl.h>

namespace det::collectives::nccl::hip {

#define DET_HIP_TEXT_OF(number) #number
#define DET_HIP_LIBRARY(major) "libamdhip64.so." DET_HIP_TEXT_OF(major)

inline constexpr char driver_name[] = "HIP";
inline constexpr char nccl_name[] = "RCCL";
inline constexpr char nccl_library[] = "librccl.so.1";
inline constexpr char set_device_name[] = "hipSetDevice";
// The library of the headers' major version: HIP 6 has other values of hipMemoryType than HIP 5.
inline constexpr char driver_library[] = DET_HIP_LIBRARY(HIP_VERSION_MAJOR);
inline constexpr char driver_hint[] =
    "device memory needs HIP on this node, of the major version of the headers with which det-submit was "
    "built";

#undef DET_HIP_LIBRARY
#undef DET_HIP_TEXT_OF

using GpuResult = hipError_t;
using GpuStream = hipStream_t;
using GpuEvent = hipEvent_t;
using GpuPointer = hipDeviceptr_t;
using GpuMemoryType = hipMemoryType;
using GpuCaptureStatus = hipStreamCaptureStatus;
/// What makes a device the current one of a thread: its number. hipCtxPopCurrent() does not give the thread
/// back the device that it had before hipCtxPushCurrent().
using GpuContext = int;

inline constexpr auto gpu_success = hipSuccess;
inline constexpr auto gpu_not_ready = hipErrorNotReady;
inline constexpr auto gpu_invalid_context = hipErrorInvalidContext;
inline constexpr auto gpu_capture_implicit = hipErrorStreamCaptureImplicit;
inline constexpr auto gpu_event_without_timing = hipEventDisableTiming;
inline constexpr auto gpu_stream_non_blocking = hipStreamNonBlocking;
inline constexpr auto gpu_register_portable = hipHostRegisterPortable;
inline constexpr auto gpu_attribute_memory_type = HIP_POINTER_ATTRIBUTE_MEMORY_TYPE;
inline constexpr auto gpu_device_memory = hipMemoryTypeDevice;
inline constexpr auto gpu_not_capturing = hipStreamCaptureStatusNone;

/// The functions of HIP that this module calls.
struct GpuFunctions {
    decltype(&::hipPointerGetAttribute) pointer_attribute;
    decltype(&::hipStreamIsCapturing) is_capturing;
    decltype(&::hipEventCreateWithFlags) event_create;
    decltype(&::hipEventRecord) event_record;
    decltype(&::hipEventQuery) event_query;
    decltype(&::hipEventDestroy) event_destroy;
    decltype(&::hipStreamCreateWithFlags) stream_create;
    decltype(&::hipStreamDestroy) stream_destroy;
    decltype(&::hipGetErrorString) error_string;
    hipError_t (*allocate)(void** memory, std::size_t size_bytes, hipStream_t);  // has C++ overloads
    decltype(&::hipFreeAsync) free;
    decltype(&::hipMemcpyDtoDAsync) copy;
    decltype(&::hipMemcpyDtoHAsync) copy_to_host;
    decltype(&::hipMemcpyHtoDAsync) copy_to_device;
    decltype(&::hipHostRegister) pin;
    decltype(&::hipHostUnregister) unpin;
    decltype(&::hipGetDevice) current_context;
    decltype(&::hipSetDevice) set_device;
    decltype(&::hipGetLastError) last_error;
};

template <class Library>
void find_functions(Library& library, GpuFunctions& found) {
    library.find(found.pointer_attribute, "hipPointerGetAttribute")
        .find(found.is_capturing, "hipStreamIsCapturing")
        .find(found.event_create, "hipEventCreateWithFlags")
        .find(found.event_record, "hipEventRecord")
        .find(found.event_query, "hipEventQuery")
        .find(found.event_destroy, "hipEventDestroy")
        .find(found.stream_create, "hipStreamCreateWithFlags")
        .find(found.stream_destroy, "hipStreamDestroy")
        .find(found.error_string, "hipGetErrorString")
        .find(found.allocate, "hipMallocAsync")
        .find(found.free, "hipFreeAsync")
        .find(found.copy, "hipMemcpyDtoDAsync")
        .find(found.copy_to_host, "hipMemcpyDtoHAsync")
        .find(found.copy_to_device, "hipMemcpyHtoDAsync")
        .find(found.pin, "hipHostRegister")
        .find(found.unpin, "hipHostUnregister")
        .find(found.current_context, "hipGetDevice")
        .find(found.set_device, "hipSetDevice")
        .find(found.last_error, "hipGetLastError");
}

inline GpuPointer gpu_pointer(void const* address) { return const_cast<void*>(address); }

inline char const* error_text(GpuFunctions const& gpu, GpuResult error) { return gpu.error_string(error); }

/// Clears the error that HIP keeps of this thread's last failed call: torch would raise it at its next
/// kernel.
inline void forget_error(GpuFunctions const& gpu) { static_cast<void>(gpu.last_error()); }

/// Makes a device the current one of this thread until leave_context(). Returns whether it has done so.
/// \param before the device that the thread has now, for leave_context()
inline bool enter_context(GpuFunctions const& gpu, GpuContext device, GpuContext& before) {
    return gpu.current_context(&before) == hipSuccess && gpu.set_device(device) == hipSuccess;
}
inline void leave_context(GpuFunctions const& gpu, GpuContext before) {
    static_cast<void>(gpu.set_device(before));
}

}  // namespace det::collectives::nccl::hip
