#include "compile_cache.hpp"

#include <det/foundation/files.hpp>
#include <det/launch/node/node_directory.hpp>
#include <det/protocol/task_identity.hpp>

#include <algorithm>
#include <ctime>
#include <fcntl.h>
#include <sys/stat.h>

namespace det::launch::node {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view cache_prefix = "compile-cache-";
constexpr std::time_t unused_s = std::time_t{30} * 24 * 3600;

void remove_unused_caches(fs::path const& parent, fs::path const& own) {
    auto const names = list_directory(parent);
    if (!names) return;
    auto const now = std::time(nullptr);
    for (auto const& name : *names) {
        auto const path = parent / name;
        struct stat info {};
        bool const is_other = name.starts_with(cache_prefix) && path != own;
        if (!is_other || ::lstat(path.c_str(), &info) != 0) continue;
        if (now - info.st_mtim.tv_sec > unused_s) (void)remove_tree(path);
    }
}

void set_default(Environment& environment, char const* name, fs::path const& value) {
    if (!environment.find_non_empty(name)) environment.set(name, value.string());
}

}  // namespace

void use_compile_cache(Environment& environment, fs::path const& parent, std::string const& node) {
    auto const name = environment.find_non_empty(variables::compile_cache);
    // An absolute path was set by an outer wrapper of the same run.
    if (!name || name->find('/') != std::string::npos) return;
    auto const cache = parent / local_directory_name(parent, std::string(cache_prefix) + *name, node);
    // Without the directory the compilers use their own default.
    if (!make_directories(cache)) {
        environment.unset(variables::compile_cache);
        return;
    }
    ::utimensat(AT_FDCWD, cache.c_str(), nullptr, 0);
    environment.set(variables::compile_cache, cache.string());
    set_default(environment, "TORCHINDUCTOR_CACHE_DIR", cache / "inductor");
    set_default(environment, "TRITON_CACHE_DIR", cache / "triton");
    remove_unused_caches(parent, cache);
}

}  // namespace det::launch::node
