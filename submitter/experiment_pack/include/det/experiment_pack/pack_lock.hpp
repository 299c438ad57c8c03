#pragma once
#include <det/foundation/files.hpp>

#include <chrono>
#include <filesystem>

namespace det::experiment_pack {

/// Lets one process at a time pack, unpack, continue or delete an experiment: one that removes packed files
/// must not run beside one that writes files. With flock(2), the kernel releases the lock when the process
/// ends. On a file system without it, the lock is the existence of its file, which a killed process leaves:
/// the error then names the file.
class PackLock {
public:
    /// Creates the lock file `.pack-lock-N` beside the directory of experiment N, and removes temporary files
    /// that a killed process has left in that directory. codes::wrong_state if another process has the lock.
    /// \param wait_max a process that was killed while it synced the disk has the lock until that is done
    static Result<PackLock> take(std::filesystem::path const& directory, std::chrono::milliseconds wait_max);
    static constexpr std::chrono::milliseconds usual_wait = std::chrono::seconds(10);
    PackLock(PackLock&& other) noexcept;
    PackLock& operator=(PackLock&&) = delete;
    ~PackLock();

    /// Of the experiment.
    std::filesystem::path const& directory() const { return directory_; }

private:
    PackLock(UniqueFd file, std::filesystem::path path, std::filesystem::path directory);

    UniqueFd file_;
    std::filesystem::path path_;
    std::filesystem::path directory_;
};

}  // namespace det::experiment_pack
