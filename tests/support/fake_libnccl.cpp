// A fake NCCL or RCCL for machines without a GPU, in the same library as the fake driver. A communicator of
// one rank copies memory, and may send to itself; one of several ranks behaves as if all of them used the
// same device. The functions of NCCL 2.14 and newer are only there if the headers have them.
#include <condition_variable>

#include "fake_gpu.hpp"
#include "gpu_api.hpp"

using namespace det::collectives::nccl::DET_GPU_API;

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

ncclResult_t copy(void const* in, void* out, std::size_t count, ncclDataType_t type) {
    if (in == out || count == 0) return ncclSuccess;
    std::lock_guard const held(fake_gpu().mutex);
    fake_gpu().enqueue(out, in, count * size_of(type));
    return ncclSuccess;
}

/// What fakeNcclVersion() and fakeHoldConnect() have set.
struct Settings {
    std::mutex mutex;
    std::condition_variable changed;
    int version = NCCL_VERSION_CODE;
    bool holds_connect = false;
    int aborted = 0;
};
Settings settings;

/// A send or receive of the only rank, to itself.
struct Transfer {
    void* memory;
    std::size_t count;
    ncclDataType_t type;
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
                     ? copy(from.memory, to.memory, from.count, from.type)
                     : ncclInvalidUsage;
    }
    sends.clear();
    receives.clear();
    return result;
}

/// Like NCCL 2.28, leaves the last count % 8 elements of a mean unwritten.
ncclResult_t reduce(void const* in, void* out, std::size_t count, ncclDataType_t type, ncclRedOp_t op) {
    return copy(in, out, op == ncclAvg ? count - count % 8 : count, type);
}

}  // namespace

extern "C" {
#pragma GCC visibility push(default)

/// The library says that it is of this version; 0: that of the headers.
void fakeNcclVersion(int version) {
    std::lock_guard const lock(settings.mutex);
    settings.version = version != 0 ? version : NCCL_VERSION_CODE;
}
/// While this is set, ncclCommInitRank() blocks.
void fakeHoldConnect(bool is_held) {
    std::lock_guard const lock(settings.mutex);
    settings.holds_connect = is_held;
    settings.changed.notify_all();
}
/// Waits until ncclCommAbort() has been called this often. Returns whether it has within 30 s.
bool fakeWaitForAborts(int count) {
    std::unique_lock lock(settings.mutex);
    return settings.changed.wait_for(lock, std::chrono::seconds(30),
                                     [&] { return settings.aborted >= count; });
}
int fakeAborts() {
    std::lock_guard const lock(settings.mutex);
    return settings.aborted;
}

ncclResult_t ncclGetVersion(int* version) {
    std::lock_guard const lock(settings.mutex);
    *version = settings.version;
    return ncclSuccess;
}
ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
    *id = {};
    return ncclSuccess;
}
#ifdef DET_NCCL_HAS_CONFIG
ncclResult_t ncclCommInitRankConfig(ncclComm_t* communicator, int ranks, ncclUniqueId, int, ncclConfig_t*) {
    *communicator = new ncclComm{ranks};
    return ncclInProgress;
}
ncclResult_t ncclCommFinalize(ncclComm_t) { return ncclSuccess; }
#endif
ncclResult_t ncclCommInitRank(ncclComm_t* communicator, int ranks, ncclUniqueId, int) {
    std::unique_lock lock(settings.mutex);
    settings.changed.wait(lock, [] { return !settings.holds_connect; });
    *communicator = new ncclComm{ranks};
    return ncclSuccess;
}
ncclResult_t ncclCommDestroy(ncclComm_t communicator) {
    delete communicator;
    return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t communicator) {
    std::lock_guard const lock(settings.mutex);
    ++settings.aborted;
    settings.changed.notify_all();
    return ::ncclCommDestroy(communicator);
}
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
                           ncclComm_t, GpuStream) {
    return reduce(in, out, count, type, op);
}
ncclResult_t ncclReduce(void const* in, void* out, std::size_t count, ncclDataType_t type, ncclRedOp_t op,
                        int, ncclComm_t, GpuStream) {
    return reduce(in, out, count, type, op);
}
ncclResult_t ncclReduceScatter(void const* in, void* out, std::size_t count, ncclDataType_t type,
                               ncclRedOp_t op, ncclComm_t, GpuStream) {
    return reduce(in, out, count, type, op);
}
ncclResult_t ncclAllGather(void const* in, void* out, std::size_t count, ncclDataType_t type, ncclComm_t,
                           GpuStream) {
    return copy(in, out, count, type);
}
ncclResult_t ncclBroadcast(void const* in, void* out, std::size_t count, ncclDataType_t type, int, ncclComm_t,
                           GpuStream) {
    return copy(in, out, count, type);
}
ncclResult_t ncclSend(void const* data, std::size_t count, ncclDataType_t type, int peer, ncclComm_t,
                      GpuStream) {
    sends.push_back({const_cast<void*>(data), count, type});
    return peer == 0 ? ncclSuccess : ncclInvalidArgument;
}
ncclResult_t ncclRecv(void* data, std::size_t count, ncclDataType_t type, int peer, ncclComm_t, GpuStream) {
    receives.push_back({data, count, type});
    return peer == 0 ? ncclSuccess : ncclInvalidArgument;
}

#pragma GCC visibility pop
}  // extern "C"
