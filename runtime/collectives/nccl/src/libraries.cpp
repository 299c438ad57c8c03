#include "libraries.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

namespace det::collectives::nccl {
namespace {

/// Opens a library, looks up functions one after the other, and keeps the first Error.
class Library {
public:
    /// \param hint for messages
    Library(std::filesystem::path const& path, char const* hint) : path_(path), hint_(hint) {
        library_ = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (library_ == nullptr) fail();
    }

    template <class Function>
    Library& find(Function& function, char const* name) {
        if (error_) return *this;
        auto* const symbol = ::dlsym(library_, name);
        if (symbol == nullptr) fail();
        function = reinterpret_cast<Function>(symbol);
        return *this;
    }
    Status result() const {
        if (error_) return *error_;
        return Ok{};
    }

private:
    void fail() {
        auto const* const why = ::dlerror();
        error_ =
            Error{codes::transport,
                  fmt::format("cannot use '{}': {}", path_.string(), why != nullptr ? why : "unknown reason"),
                  hint_};
    }

    std::filesystem::path const& path_;
    char const* hint_;
    void* library_;
    std::optional<Error> error_;
};

}  // namespace

Result<NcclFunctions> load_nccl(std::filesystem::path const& path) {
    NcclFunctions found;
    DET_TRY(Library(path, "collectives on device memory need NCCL on this node; checkpoints do not")
                .find(found.get_version, "ncclGetVersion")
                .find(found.get_unique_id, "ncclGetUniqueId")
                .find(found.init_rank, "ncclCommInitRankConfig")
                .find(found.finalize, "ncclCommFinalize")
                .find(found.destroy, "ncclCommDestroy")
                .find(found.abort, "ncclCommAbort")
                .find(found.get_async_error, "ncclCommGetAsyncError")
                .find(found.get_error_string, "ncclGetErrorString")
                .find(found.get_last_error, "ncclGetLastError")
                .find(found.group_start, "ncclGroupStart")
                .find(found.group_end, "ncclGroupEnd")
                .find(found.all_reduce, "ncclAllReduce")
                .find(found.reduce, "ncclReduce")
                .find(found.reduce_scatter, "ncclReduceScatter")
                .find(found.all_gather, "ncclAllGather")
                .find(found.broadcast, "ncclBroadcast")
                .find(found.send, "ncclSend")
                .find(found.receive, "ncclRecv")
                .result());
    constexpr int oldest = NCCL_VERSION(2, 14, 0);
    int version = 0;
    if (found.get_version(&version) != ncclSuccess || version < oldest) {
        return Error{codes::transport,
                     fmt::format("'{}' is NCCL {}, and {} is needed", path.string(), version, oldest)};
    }
    return found;
}

Result<CudaFunctions> load_cuda(std::filesystem::path const& path) {
    CudaFunctions found;
    DET_TRY(Library(path, "device memory needs NVIDIA's driver on this node")
                .find(found.pointer_attribute, "cuPointerGetAttribute")
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
                .find(found.pop_context, "cuCtxPopCurrent_v2")
                .result());
    return found;
}

}  // namespace det::collectives::nccl
