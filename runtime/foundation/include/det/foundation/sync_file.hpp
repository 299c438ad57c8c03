#pragma once
#include <det/foundation/result.hpp>
#include <det/foundation/thread_pool.hpp>

#include <condition_variable>
#include <filesystem>
#include <mutex>

namespace det {

/// Syncs the contents of a file, so that they survive a power failure. The name of a new file survives only
/// after sync_directory() for its directory.
Status sync_file(std::filesystem::path const& path);

/// Syncs directories in a thread of its own, det-sync, in the order in which they are added, while its owner
/// goes on. The names in them survive a power failure only after the next join().
class SyncThread {
public:
    SyncThread() : thread_("det-sync", 1) {}
    /// Waits for the sync that is running; the others are dropped.
    ~SyncThread() { thread_.stop(); }
    SyncThread(SyncThread const&) = delete;
    SyncThread& operator=(SyncThread const&) = delete;

    void add_directory(std::filesystem::path path);
    /// Waits until everything that was added is synced. Returns the first error since the last join().
    Status join();

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    int pending_count_ = 0;
    Status first_error_ = Ok{};
    ThreadPool thread_;  // the last member: its thread uses the others
};

/// Syncs a directory now, or adds it to `syncs` if there is one.
Status sync_directory(std::filesystem::path const& path, SyncThread* syncs);

}  // namespace det
