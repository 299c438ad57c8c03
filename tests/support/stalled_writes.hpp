#pragma once
#include <atomic>
#include <chrono>
#include <dlfcn.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace det {

/// While it exists, write(2) to the file does not return, as on a shared file system whose server does not
/// answer. Include this header in one source file of a test program: it replaces write() there. One object at
/// a time.
class StalledWrites {
public:
    explicit StalledWrites(std::filesystem::path const& file) {
        struct stat info {};
        ::stat(file.c_str(), &info);
        inode_ = info.st_ino;
    }
    ~StalledWrites() { inode_ = 0; }
    StalledWrites(StalledWrites const&) = delete;
    StalledWrites& operator=(StalledWrites const&) = delete;

    bool is_waiting() const { return waiting_ > 0; }
    /// Waits until a write has begun, 30 s at most.
    void wait_for_one() const {
        auto const give_up_at = std::chrono::steady_clock::now() + std::chrono::seconds(30);
        while (!is_waiting() && std::chrono::steady_clock::now() < give_up_at) ::usleep(1000);
    }
    /// Called by write().
    static void wait_if_stalled(int fd) {
        if (inode_ == 0) return;
        struct stat info {};
        if (::fstat(fd, &info) != 0 || info.st_ino != inode_) return;
        ++waiting_;
        while (inode_ == info.st_ino) ::usleep(1000);
        --waiting_;
    }

private:
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
