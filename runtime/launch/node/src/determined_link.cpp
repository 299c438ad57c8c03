#include "determined_link.hpp"

#include <det/protocol/cluster_info.hpp>

#include <sys/stat.h>
#include <unistd.h>

namespace det::launch::node {
namespace {

namespace fs = std::filesystem;

bool is_ours_alone(fs::path const& place) {
    struct stat info {};
    return ::lstat(place.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == ::getuid() &&
           (info.st_mode & 022) == 0;
}

}  // namespace

void link_determined_info(fs::path const& run_dir, fs::path const& place) {
    if (!is_ours_alone(place)) return;
    auto const link = place / info_files::directory;
    std::error_code error;
    bool const dead = fs::is_symlink(fs::symlink_status(link, error)) && !fs::exists(link, error);
    if (dead) ::unlink(link.c_str());
    fs::create_directory_symlink(run_dir / info_files::directory, link, error);
}

void unlink_determined_info(fs::path const& run_dir, fs::path const& place) {
    auto const link = place / info_files::directory;
    std::error_code error;
    if (fs::read_symlink(link, error) == run_dir / info_files::directory) ::unlink(link.c_str());
}

}  // namespace det::launch::node
