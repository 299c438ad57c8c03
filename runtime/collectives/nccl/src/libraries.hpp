#pragma once
#include <det/collectives/nccl/nccl_backend.hpp>

#include "gpu_api.hpp"

namespace det::collectives::nccl::DET_GPU_API {

/// The functions of NCCL that this module calls.
struct NcclFunctions {
    decltype(&::ncclGetVersion) get_version;
    decltype(&::ncclGetUniqueId) get_unique_id;
    decltype(&::ncclCommInitRank) init_rank;
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
#ifdef DET_NCCL_HAS_CONFIG
    // nullptr: the library is older than 2.14
    decltype(&::ncclCommInitRankConfig) init_rank_config;
    decltype(&::ncclCommFinalize) finalize;
#endif
};

// The libraries stay loaded until the process ends, because NCCL has threads of its own.
Result<GpuFunctions> load_driver(std::filesystem::path const& path);
/// Fails for NCCL before 2.13, which lacks functions.
Result<NcclFunctions> load_nccl(std::filesystem::path const& path);

/// Whether the library and the headers of the build can connect without blocking.
bool can_connect_without_blocking(NcclFunctions const& nccl);

}  // namespace det::collectives::nccl::DET_GPU_API
