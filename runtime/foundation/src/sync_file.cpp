#include <det/foundation/files.hpp>
#include <det/foundation/sync_file.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace det {

Status sync_file(std::filesystem::path const& path) {
    UniqueFd const fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd || ::fsync(fd.get()) != 0) return os_error(fmt::format("sync '{}'", path.string()), errno);
    return Ok{};
}

void SyncThread::add_directory(std::filesystem::path path) {
    {
        std::lock_guard const lock(mutex_);
        ++pending_count_;
    }
    thread_.submit([this, path = std::move(path)] {
        auto synced = sync_directory(path);
        std::lock_guard const lock(mutex_);
        if (!synced && first_error_) first_error_ = std::move(synced);
        --pending_count_;
        changed_.notify_all();
    });
}

Status SyncThread::join() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return pending_count_ == 0; });
    return std::exchange(first_error_, Ok{});
}

Status sync_directory(std::filesystem::path const& path, SyncThread* syncs) {
    if (syncs == nullptr) return sync_directory(path);
    syncs->add_directory(path);
    return Ok{};
}

}  // namespace det
