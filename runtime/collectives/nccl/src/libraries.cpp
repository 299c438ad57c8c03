#include "libraries.hpp"

#include <dlfcn.h>
#include <filesystem>
#include <fmt/format.h>
#include <link.h>
#include <optional>

namespace det::collectives::nccl::DET_GPU_API {
namespace {

/// Opens a library, looks up functions one after the other, and keeps the first Error.
class Library {
public:
    /// \param hint for messages
    Library(std::filesystem::path const& path, std::string hint) : path_(path), hint_(std::move(hint)) {
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
    std::string hint_;
    void* library_;
    std::optional<Error> error_;
};

/// The number of loaded libraries of this name, of any version.
int count_loaded(std::string_view name) {
    struct Search {
        std::string_view name;
        int count = 0;
    } search{name};
    auto const visit = [](dl_phdr_info* info, std::size_t, void* data) {
        auto& found = *static_cast<Search*>(data);
        auto const file = std::filesystem::path(info->dlpi_name).filename().string();
        if (file.starts_with(found.name)) ++found.count;
        return 0;
    };
    ::dl_iterate_phdr(visit, &search);
    return search.count;
}

}  // namespace

Result<NcclFunctions> load_nccl(std::filesystem::path const& path) {
    NcclFunctions found{};
    Library library(path, fmt::format("collectives on device memory need {} on this node; checkpoints do not",
                                      nccl_name));
    library.find(found.get_version, "ncclGetVersion")
        .find(found.get_unique_id, "ncclGetUniqueId")
        .find(found.init_rank, "ncclCommInitRank")
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
        .find(found.receive, "ncclRecv");
    DET_TRY(library.result());
    constexpr int oldest = NCCL_VERSION(2, 13, 0);
    int version = 0;
    if (found.get_version(&version) != ncclSuccess || version < oldest) {
        return Error{codes::transport, fmt::format("'{}' is {} {}, and {} is needed", path.string(),
                                                   nccl_name, version, oldest)};
    }
#ifdef DET_NCCL_HAS_CONFIG
    if (version >= NCCL_VERSION(2, 14, 0)) {
        library.find(found.init_rank_config, "ncclCommInitRankConfig")
            .find(found.finalize, "ncclCommFinalize");
        DET_TRY(library.result());
    }
#endif
    return found;
}

bool can_connect_without_blocking([[maybe_unused]] NcclFunctions const& nccl) {
#ifdef DET_NCCL_HAS_CONFIG
    return nccl.init_rank_config != nullptr;
#else
    return false;
#endif
}

Result<GpuFunctions> load_driver(std::filesystem::path const& path) {
    auto const file = path.filename().string();
    auto const name = file.substr(0, file.find(".so")) + ".so";
    GpuFunctions found{};
    Library library(path, driver_hint);
    find_functions(library, found);
    DET_TRY(library.result());
    if (count_loaded(name) > 1) {
        return Error{codes::transport,
                     fmt::format("this process has loaded another {} than '{}'", name, path.string()),
                     driver_hint};
    }
    return found;
}

}  // namespace det::collectives::nccl::DET_GPU_API
