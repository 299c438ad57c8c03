#include <det/foundation/files.hpp>
#include <det/foundation/temporary_names.hpp>

#include <fmt/format.h>
#include <sys/stat.h>

#include "random_words.hpp"

namespace det {

namespace fs = std::filesystem;

fs::path temporary_name(fs::path const& directory, std::string_view prefix) {
    auto const [a, b] = random_words<2>();
    return directory / fmt::format("{}{:08x}{:08x}", prefix, a, b);
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
