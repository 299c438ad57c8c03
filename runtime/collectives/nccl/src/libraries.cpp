#include "libraries.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

namespace det::collectives::nccl {
namespace {

Error cannot_open(std::filesystem::path const& path) {
    auto const* const why = ::dlerror();
    return Error{codes::transport,
                 fmt::format("cannot use '{}': {}", path.string(), why != nullptr ? why : "unknown reason"),
                 "device memory needs NVIDIA's driver and NCCL on this node"};
}

Result<void*> open(std::filesystem::path const& path) {
    auto* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return cannot_open(path);
    return library;
}

/// Looks up functions one after the other, and keeps the Error of the first one that is missing.
class Finder {
public:
    Finder(void* library, std::filesystem::path const& path) : library_(library), path_(path) {}

    template <class Function>
    Finder& find(Function& function, char const* name) {
        auto* const symbol = ::dlsym(library_, name);
        if (symbol == nullptr && !error_) error_ = cannot_open(path_);
        function = reinterpret_cast<Function>(symbol);
        return *this;
    }
    Status result() const {
        if (error_) return *error_;
        return Ok{};
    }

private:
    void* library_;
    std::filesystem::path const& path_;
    std::optional<Error> error_;
};

Status load_nccl(std::filesystem::path const& path, NcclFunctions& found) {
    DET_TRY_ASSIGN(auto* const library, open(path));
    return Finder(library, path)
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
        .result();
}

Status load_cuda(std::filesystem::path const& path, CudaFunctions& found) {
    DET_TRY_ASSIGN(auto* const library, open(path));
    return Finder(library, path)
        .find(found.pointer_attribute, "cuPointerGetAttribute")
        .find(found.is_capturing, "cuStreamIsCapturing")
        .find(found.event_create, "cuEventCreate")
        .find(found.event_record, "cuEventRecord")
        .find(found.event_query, "cuEventQuery")
        .find(found.event_destroy, "cuEventDestroy_v2")
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
        .result();
}

}  // namespace

Result<Functions> load(Libraries const& libraries) {
    Functions found;
    DET_TRY(load_cuda(libraries.cuda_driver, found.cuda));
    DET_TRY(load_nccl(libraries.nccl, found.nccl));
    constexpr int oldest = NCCL_VERSION(2, 14, 0);
    int version = 0;
    if (found.nccl.get_version(&version) != ncclSuccess || version < oldest) {
        return Error{codes::transport, fmt::format("'{}' is NCCL {}, and {} is needed",
                                                   libraries.nccl.string(), version, oldest)};
    }
    return found;
}

}  // namespace det::collectives::nccl
