// A fake NCCL 2.28 for machines without a GPU, in the same library as the fake libcuda.so. A communicator of
// one rank copies memory, and may send to itself; one of several ranks behaves as if all of them used the
// same device.
#include <cuda.h>
#include <deque>
#include <nccl.h>

struct ncclComm {
    int ranks = 1;
};

namespace {

std::size_t size_of(ncclDataType_t type) {
    switch (type) {
        case ncclFloat64:
        case ncclInt64:
        case ncclUint64:
            return 8;
        case ncclFloat32:
        case ncclInt32:
        case ncclUint32:
            return 4;
        case ncclFloat16:
        case ncclBfloat16:
            return 2;
        default:
            return 1;
    }
}

ncclResult_t copy(void const* in, void* out, std::size_t count, ncclDataType_t type, CUstream stream) {
    if (in == out || count == 0) return ncclSuccess;
    auto const copied = ::cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(out), reinterpret_cast<CUdeviceptr>(in),
                                        count * size_of(type), stream);
    return copied == CUDA_SUCCESS ? ncclSuccess : ncclUnhandledCudaError;
}

/// A send or receive of the only rank, to itself.
struct Transfer {
    void* memory;
    std::size_t count;
    ncclDataType_t type;
    CUstream stream;
};

/// Sends and receives of the group in progress, of the thread that has begun it. As in NCCL, a rank that
/// sends to itself does so in a group with the receive.
thread_local std::deque<Transfer> sends, receives;

ncclResult_t exchange() {
    auto result = sends.size() == receives.size() ? ncclSuccess : ncclInvalidUsage;
    for (; result == ncclSuccess && !sends.empty(); sends.pop_front(), receives.pop_front()) {
        auto const& from = sends.front();
        auto const& to = receives.front();
        result = from.count == to.count && from.type == to.type
                     ? copy(from.memory, to.memory, from.count, from.type, to.stream)
                     : ncclInvalidUsage;
    }
    sends.clear();
    receives.clear();
    return result;
}

/// Like NCCL 2.28, leaves the last count % 8 elements of a mean unwritten.
ncclResult_t reduce(void const* in, void* out, std::size_t count, ncclDataType_t type, ncclRedOp_t op,
                    CUstream stream) {
    return copy(in, out, op == ncclAvg ? count - count % 8 : count, type, stream);
}

}  // namespace

extern "C" {
#pragma GCC visibility push(default)

ncclResult_t ncclGetVersion(int* version) {
    *version = NCCL_VERSION(2, 28, 9);
    return ncclSuccess;
}
ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
    *id = {};
    return ncclSuccess;
}
ncclResult_t ncclCommInitRankConfig(ncclComm_t* communicator, int ranks, ncclUniqueId, int, ncclConfig_t*) {
    *communicator = new ncclComm{ranks};
    return ncclInProgress;
}
ncclResult_t ncclCommFinalize(ncclComm_t) { return ncclSuccess; }
ncclResult_t ncclCommDestroy(ncclComm_t communicator) {
    delete communicator;
    return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t communicator) { return ::ncclCommDestroy(communicator); }
ncclResult_t ncclCommGetAsyncError(ncclComm_t communicator, ncclResult_t* state) {
    *state = communicator->ranks == 1 ? ncclSuccess : ncclInvalidUsage;
    return ncclSuccess;
}
char const* ncclGetErrorString(ncclResult_t result) {
    return result == ncclInvalidUsage ? "invalid usage" : "another error";
}
char const* ncclGetLastError(ncclComm_t communicator) {
    return communicator->ranks == 1 ? ""
                                    : "Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 18000";
}
ncclResult_t ncclGroupStart() { return ncclSuccess; }
ncclResult_t ncclGroupEnd() { return exchange(); }

ncclResult_t ncclAllReduce(void const* in, void* out, std::size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t, CUstream_st* stream) {
    return reduce(in, out, count, type, op, stream);
}
ncclResult_t ncclReduce(void const* in, void* out, std::size_t count, ncclDataType_t type, ncclRedOp_t op,
                        int, ncclComm_t, CUstream_st* stream) {
    return reduce(in, out, count, type, op, stream);
}
ncclResult_t ncclReduceScatter(void const* in, void* out, std::size_t count, ncclDataType_t type,
                               ncclRedOp_t op, ncclComm_t, CUstream_st* stream) {
    return reduce(in, out, count, type, op, stream);
}
ncclResult_t ncclAllGather(void const* in, void* out, std::size_t count, ncclDataType_t type, ncclComm_t,
                           CUstream_st* stream) {
    return copy(in, out, count, type, stream);
}
ncclResult_t ncclBroadcast(void const* in, void* out, std::size_t count, ncclDataType_t type, int, ncclComm_t,
                           CUstream_st* stream) {
    return copy(in, out, count, type, stream);
}
ncclResult_t ncclSend(void const* data, std::size_t count, ncclDataType_t type, int peer, ncclComm_t,
                      CUstream_st* stream) {
    sends.push_back({const_cast<void*>(data), count, type, stream});
    return peer == 0 ? ncclSuccess : ncclInvalidArgument;
}
ncclResult_t ncclRecv(void* data, std::size_t count, ncclDataType_t type, int peer, ncclComm_t,
                      CUstream_st* stream) {
    receives.push_back({data, count, type, stream});
    return peer == 0 ? ncclSuccess : ncclInvalidArgument;
}

#pragma GCC visibility pop
}  // extern "C"
