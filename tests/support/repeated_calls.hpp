#pragma once
#include <atomic>
#include <fcntl.h>
#include <filesystem>
#include <functional>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

namespace det {

/// While it exists, mkdir(2) and rename(2) are carried out twice, as by an NFS server whose first reply is
/// lost: the result is that of the second time. Include this header in one source file of a test program: it
/// replaces the two functions there. One object at a time.
class RepeatedCalls {
public:
    RepeatedCalls() { is_on_ = true; }
    ~RepeatedCalls() { is_on_ = false; }
    RepeatedCalls(RepeatedCalls const&) = delete;
    RepeatedCalls& operator=(RepeatedCalls const&) = delete;

    /// Called by the functions.
    template <class Call>
    static int carry_out(Call const& call) {
        if (is_on_) static_cast<void>(call());
        return static_cast<int>(call());
    }

private:
    static inline std::atomic<bool> is_on_ = false;
};

/// Calls a function once, before a rename(2) to this name: what another process does at that moment.
class BeforeRenameTo {
public:
    BeforeRenameTo(std::filesystem::path name, std::function<void()> act) {
        name_ = std::move(name);
        act_ = std::move(act);
    }
    ~BeforeRenameTo() { act_ = nullptr; }
    BeforeRenameTo(BeforeRenameTo const&) = delete;
    BeforeRenameTo& operator=(BeforeRenameTo const&) = delete;

    /// Called by rename(2).
    static void act(char const* name) {
        if (act_ == nullptr || name_ != name) return;
        std::exchange(act_, nullptr)();
    }

private:
    static inline std::filesystem::path name_;
    static inline std::function<void()> act_;
};

}  // namespace det

extern "C" int mkdir(char const* path, mode_t mode) noexcept {
    return det::RepeatedCalls::carry_out([&] { return ::syscall(SYS_mkdirat, AT_FDCWD, path, mode); });
}
extern "C" int rename(char const* from, char const* to) noexcept {
    det::BeforeRenameTo::act(to);
    return det::RepeatedCalls::carry_out(
        [&] { return ::syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to); });
}
