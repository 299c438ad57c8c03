#pragma once
// NVIDIA: the CUDA driver, which accepts the streams and events of the CUDA runtime and whose interface does
// not depend on the version of the runtime.
#include <cuda.h>
#include <nccl.h>

namespace det::collectives::nccl::cuda {

inline constexpr char driver_name[] = "CUDA";
inline constexpr char nccl_name[] = "NCCL";
inline constexpr char nccl_library[] = "libnccl.so.2";
inline constexpr char set_device_name[] = "cudaSetDevice";
inline constexpr char driver_library[] = "libcuda.so.1";
inline constexpr char driver_hint[] = "device memory needs NVIDIA's driver on this node";

using GpuResult = CUresult;
using GpuStream = CUstream;
using GpuEvent = CUevent;
using GpuPointer = CUdeviceptr;
using GpuMemoryType = CUmemorytype;
using GpuCaptureStatus = CUstreamCaptureStatus;
/// What makes a device the current one of a thread.
using GpuContext = CUcontext;

inline constexpr auto gpu_success = CUDA_SUCCESS;
inline constexpr auto gpu_not_ready = CUDA_ERROR_NOT_READY;
inline constexpr auto gpu_invalid_context = CUDA_ERROR_INVALID_CONTEXT;
inline constexpr auto gpu_capture_implicit = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
inline constexpr auto gpu_event_without_timing = CU_EVENT_DISABLE_TIMING;
inline constexpr auto gpu_stream_non_blocking = CU_STREAM_NON_BLOCKING;
inline constexpr auto gpu_register_portable = CU_MEMHOSTREGISTER_PORTABLE;
inline constexpr auto gpu_attribute_memory_type = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
inline constexpr auto gpu_device_memory = CU_MEMORYTYPE_DEVICE;
inline constexpr auto gpu_not_capturing = CU_STREAM_CAPTURE_STATUS_NONE;

/// The functions of the driver that this module calls.
struct GpuFunctions {
    decltype(&::cuPointerGetAttribute) pointer_attribute;
    decltype(&::cuStreamIsCapturing) is_capturing;
    decltype(&::cuEventCreate) event_create;
    decltype(&::cuEventRecord) event_record;
    decltype(&::cuEventQuery) event_query;
    decltype(&::cuEventDestroy) event_destroy;
    decltype(&::cuStreamCreate) stream_create;
    decltype(&::cuStreamDestroy) stream_destroy;
    decltype(&::cuGetErrorString) error_string;
    decltype(&::cuMemAllocAsync) allocate;
    decltype(&::cuMemFreeAsync) free;
    decltype(&::cuMemcpyAsync) copy;
    decltype(&::cuMemcpyDtoHAsync) copy_to_host;
    decltype(&::cuMemcpyHtoDAsync) copy_to_device;
    decltype(&::cuMemHostRegister) pin;
    decltype(&::cuMemHostUnregister) unpin;
    decltype(&::cuCtxGetCurrent) current_context;
    decltype(&::cuCtxPushCurrent) push_context;
    decltype(&::cuCtxPopCurrent) pop_context;
};

template <class Library>
void find_functions(Library& library, GpuFunctions& found) {
    library.find(found.pointer_attribute, "cuPointerGetAttribute")
        .find(found.is_capturing, "cuStreamIsCapturing")
        .find(found.event_create, "cuEventCreate")
        .find(found.event_record, "cuEventRecord")
        .find(found.event_query, "cuEventQuery")
        .find(found.event_destroy, "cuEventDestroy_v2")
        .find(found.stream_create, "cuStreamCreate")
        .find(found.stream_destroy, "cuStreamDestroy_v2")
        .find(found.error_string, "cuGetErrorString")
        .find(found.allocate, "cuMemAllocAsync")
        .find(found.free, "cuMemFreeAsync")
        .find(found.copy, "cuMemcpyAsync")
        .find(found.copy_to_host, "cuMemcpyDtoHAsync_v2")
        .find(found.copy_to_device, "cuMemcpyHtoDAsync_v2")
        .find(found.pin, "cuMemHostRegister_v2")
        .find(found.unpin, "cuMemHostUnregister")
        .find(found.current_context, "cuCtxGetCurrent")
        .find(found.push_context, "cuCtxPushCurrent_v2")
        .find(found.pop_context, "cuCtxPopCurrent_v2");
}

inline GpuPointer gpu_pointer(void const* address) { return reinterpret_cast<CUdeviceptr>(address); }

/// \return nullptr if the driver does not know the error
inline char const* error_text(GpuFunctions const& gpu, GpuResult error) {
    char const* text = nullptr;
    gpu.error_string(error, &text);
    return text;
}

/// The driver of CUDA keeps no error of a failed call.
inline void forget_error(GpuFunctions const&) {}

/// Makes a context the current one of this thread until leave_context(). Returns whether it has done so.
inline bool enter_context(GpuFunctions const& gpu, GpuContext context, GpuContext& /*before*/) {
    return gpu.push_context(context) == CUDA_SUCCESS;
}
inline void leave_context(GpuFunctions const& gpu, GpuContext /*before*/) {
    CUcontext popped = nullptr;
    static_cast<void>(gpu.pop_context(&popped));
}

}  // namespace det::collectives::nccl::cuda
