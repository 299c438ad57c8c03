#include <det/foundation/files.hpp>
#include <det/foundation/shared_directory.hpp>
#include <det/foundation/temporary_names.hpp>

#include <cerrno>
#include <fmt/format.h>
#include <sys/stat.h>

#include "random_words.hpp"

namespace det {

namespace fs = std::filesystem;

fs::path temporary_name(fs::path const& directory, std::string_view prefix) {
    auto const [a, b] = random_words<2>();
    return directory / fmt::format("{}{:08x}{:08x}", prefix, a, b);
}

Status make_own_directory(fs::path const& path, mode_t mode) {
    struct stat info {};
    if (::mkdir(path.c_str(), mode) != 0) {
        int const failed = errno;
        if (::lstat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode))
            return os_error(fmt::format("make the directory '{}'", path.string()), failed);
    }
    if (auto const shared = mode_of_new_file(path, mode); shared != mode) mode = shared | S_ISGID;
    if ((info.st_mode & 07777) == mode) return Ok{};
    if (::chmod(path.c_str(), mode) != 0)
        return os_error(fmt::format("set the mode of '{}'", path.string()), errno);
    return Ok{};
}

void remove_old_temporaries(fs::path const& directory, std::string_view prefix, fs::path const& fresh) {
    constexpr time_t old_s = 24 * 60 * 60;
    struct stat now {};
    auto const names = list_directory(directory);
    if (!names || ::lstat(fresh.c_str(), &now) != 0) return;
    for (auto const& name : *names) {
        if (!name.starts_with(prefix)) continue;
        auto const path = directory / name;
        struct stat info {};
        if (::lstat(path.c_str(), &info) != 0 || S_ISLNK(info.st_mode)) continue;
        if (now.st_mtim.tv_sec - info.st_mtim.tv_sec > old_s) (void)remove_tree(path);
    }
}

}  // namespace det
