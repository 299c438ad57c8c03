#pragma once
#include <atomic>
#include <chrono>
#include <dlfcn.h>
#include <filesystem>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

namespace det {

/// While it exists, write(2) to the file, or to a file below the directory, does not return, as on a shared
/// file system whose server does not answer. Include this header in one source file of a test program: it
/// replaces write() there. One object at a time.
class StalledWrites {
public:
    explicit StalledWrites(std::filesystem::path const& stalled) {
        struct stat info {};
        ::stat(stalled.c_str(), &info);
        prefix_ = S_ISDIR(info.st_mode) ? std::filesystem::canonical(stalled).string() + "/" : "";
        inode_ = info.st_ino;
    }
    ~StalledWrites() {
        inode_ = 0;
        while (is_waiting()) ::usleep(1000);
    }
    StalledWrites(StalledWrites const&) = delete;
    StalledWrites& operator=(StalledWrites const&) = delete;

    static bool is_waiting() { return waiting() > 0; }
    /// The number of writes that do not return.
    static int waiting() { return waiting_; }
    /// Waits until a write has begun, 30 s at most.
    void wait_for_one() const {
        auto const give_up_at = std::chrono::steady_clock::now() + std::chrono::seconds(30);
        while (!is_waiting() && std::chrono::steady_clock::now() < give_up_at) ::usleep(1000);
    }
    /// Called by write().
    static void wait_if_stalled(int fd) {
        if (inode_ == 0 || !is_stalled(fd)) return;
        ++waiting_;
        while (inode_ != 0) ::usleep(1000);
        --waiting_;
    }

private:
    static bool is_stalled(int fd) {
        struct stat info {};
        if (::fstat(fd, &info) != 0) return false;
        if (prefix_.empty()) return info.st_ino == inode_;
        std::error_code error;
        auto const file = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd), error);
        return !error && file.native().starts_with(prefix_);
    }

    static inline std::string prefix_;  // the stalled directory; empty: one file
    static inline std::atomic<ino_t> inode_ = 0;
    static inline std::atomic<int> waiting_ = 0;
};

}  // namespace det

extern "C" ssize_t write(int fd, void const* bytes, std::size_t size_bytes) {
    static auto const real =
        reinterpret_cast<ssize_t (*)(int, void const*, std::size_t)>(::dlsym(RTLD_NEXT, "write"));
    det::StalledWrites::wait_if_stalled(fd);
    return real(fd, bytes, size_bytes);
}
