#include <det/foundation/files.hpp>
#include <det/tracker/index/tables.hpp>
#include <det/tracker/ingest/ingester.hpp>
#include <det/tracker/ingest/rebuild.hpp>

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace det::tracker::ingest {
namespace {

Status sync(std::filesystem::path const& path) {
    UniqueFd const fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd || ::fsync(fd.get()) != 0) return os_error(fmt::format("sync '{}'", path.string()), errno);
    return Ok{};
}

bool must_be_made_anew(ErrorCode code) {
    return code == codes::damaged || code == codes::newer_format || code == codes::misuse;
}

}  // namespace

Status rebuild_index(std::filesystem::path const& path, RootLayout const& root) {
    auto const fresh = std::filesystem::path(path.native() + ".new");
    DET_TRY(remove_tree(fresh));
    {
        DET_TRY_ASSIGN(auto index, index::open_index(fresh, root.path(), index::Access::write_unsafe));
        DET_TRY(Ingester(std::move(index), root).read_all());
    }
    DET_TRY(sync(fresh));
    // The write-ahead log belongs to the old file; SQLite would apply it to the new one.
    for (auto const* const suffix : {"-wal", "-shm"}) DET_TRY(remove_tree(path.native() + suffix));
    if (std::rename(fresh.c_str(), path.c_str()) != 0)
        return os_error(fmt::format("rename '{}'", fresh.string()), errno);
    return sync_directory(path.parent_path());
}

Result<index::Database> open_or_rebuild_index(std::filesystem::path const& path, RootLayout const& root) {
    auto opened = index::open_index(path, root.path(), index::Access::write);
    if (opened || !must_be_made_anew(opened.error().code)) return opened;
    DET_TRY(rebuild_index(path, root));
    return index::open_index(path, root.path(), index::Access::write);
}

}  // namespace det::tracker::ingest
