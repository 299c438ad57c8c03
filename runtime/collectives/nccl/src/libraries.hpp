#pragma once
#include <det/collectives/nccl/nccl_backend.hpp>

#include <cuda.h>
#include <nccl.h>

namespace det::collectives::nccl {

/// The functions of NCCL that this module calls.
struct NcclFunctions {
    decltype(&::ncclGetVersion) get_version;
    decltype(&::ncclGetUniqueId) get_unique_id;
    decltype(&::ncclCommInitRankConfig) init_rank;
    decltype(&::ncclCommFinalize) finalize;
    decltype(&::ncclCommDestroy) destroy;
    decltype(&::ncclCommAbort) abort;
    decltype(&::ncclCommGetAsyncError) get_async_error;
    decltype(&::ncclGetErrorString) get_error_string;
    decltype(&::ncclGetLastError) get_last_error;
    decltype(&::ncclGroupStart) group_start;
    decltype(&::ncclGroupEnd) group_end;
    decltype(&::ncclAllReduce) all_reduce;
    decltype(&::ncclReduce) reduce;
    decltype(&::ncclReduceScatter) reduce_scatter;
    decltype(&::ncclAllGather) all_gather;
    decltype(&::ncclBroadcast) broadcast;
    decltype(&::ncclSend) send;
    decltype(&::ncclRecv) receive;
};

/// The functions of the CUDA driver that this module calls. The driver accepts the streams and events of the
/// CUDA runtime, and its interface does not depend on the version of the runtime.
struct CudaFunctions {
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

// The libraries stay loaded until the process ends, because NCCL has threads of its own.
Result<CudaFunctions> load_cuda(std::filesystem::path const& path);
/// Fails for NCCL before 2.14, which cannot connect without blocking.
Result<NcclFunctions> load_nccl(std::filesystem::path const& path);

}  // namespace det::collectives::nccl
