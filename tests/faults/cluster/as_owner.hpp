#pragma once
#include <filesystem>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace det::faults {

/// Lets this thread of root act as the owner of a directory, because what belongs to other users is not read.
/// Uses the system call: setresuid(3) changes all threads.
class AsOwner {
public:
    explicit AsOwner(std::filesystem::path const& directory) {
        struct stat info {};
        if (::stat(directory.c_str(), &info) == 0) set_user(info.st_uid);
    }
    ~AsOwner() { set_user(0); }
    AsOwner(AsOwner const&) = delete;
    AsOwner& operator=(AsOwner const&) = delete;

private:
    static void set_user(uid_t user) { ::syscall(SYS_setresuid, -1, user, -1); }
};

}  // namespace det::faults
