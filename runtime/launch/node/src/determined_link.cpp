#include "determined_link.hpp"

#include <det/protocol/cluster_info.hpp>

#include <sys/stat.h>
#include <unistd.h>

namespace det::launch::node {
namespace {

namespace fs = std::filesystem;

bool is_private_directory(fs::path const& directory) {
    struct stat info {};
    return ::lstat(directory.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == ::getuid() &&
           (info.st_mode & 022) == 0;
}

}  // namespace

void link_determined_info(fs::path const& run_dir, fs::path const& directory) {
    if (!is_private_directory(directory)) return;
    auto const link = directory / info_files::directory;
    std::error_code error;
    bool const dead = fs::is_symlink(fs::symlink_status(link, error)) && !fs::exists(link, error);
    if (dead) ::unlink(link.c_str());
    fs::create_directory_symlink(run_dir / info_files::directory, link, error);
}

void unlink_determined_info(fs::path const& run_dir, fs::path const& directory) {
    auto const link = directory / info_files::directory;
    std::error_code error;
    if (fs::read_symlink(link, error) == run_dir / info_files::directory) ::unlink(link.c_str());
}

}  // namespace det::launch::node
