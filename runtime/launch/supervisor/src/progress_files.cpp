#include "progress_files.hpp"

#include <det/foundation/files.hpp>

#include <algorithm>
#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>

namespace det::launch::supervisor {
namespace {

namespace fs = std::filesystem;

/// The paths that match, without order.
std::vector<fs::path> find_matches(fs::path const& pattern) {
    glob_t found{};
    std::vector<fs::path> paths;
    if (::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found) == 0)
        paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
    ::globfree(&found);
    return paths;
}

/// Opens the file: an NFS client asks the server on open(2), but may answer stat(2) from its cache.
std::optional<UtcTime> change_time(fs::path const& path) {
    UniqueFd const file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat info {};
    bool const is_known = file ? ::fstat(file.get(), &info) == 0 : ::stat(path.c_str(), &info) == 0;
    if (!is_known) return std::nullopt;
    return UtcTime{info.st_mtim.tv_sec * 1'000'000LL + info.st_mtim.tv_nsec / 1000};
}

}  // namespace

std::optional<UtcTime> newest_change(std::vector<std::string> const& patterns, TrialLayout const& trial) {
    std::optional<UtcTime> newest;
    for (auto const& pattern : patterns) {
        // The directories in which a program's relative paths survive its run, as links of the trial: its
        // working directory, the persistent ones in it, and DET_TRIAL_DIR. An absolute pattern replaces the
        // directory.
        for (auto const* directory : {"work", "persist", "files", "."}) {
            for (auto const& path : find_matches(trial.path() / directory / pattern)) {
                auto const changed = change_time(path);
                if (is_newer(changed, newest)) newest = changed;
            }
        }
    }
    return newest;
}

bool is_newer(std::optional<UtcTime> const& change, std::optional<UtcTime> const& before) {
    return change && (!before || change->microseconds > before->microseconds);
}

}  // namespace det::launch::supervisor
