#include "upload_sources.hpp"

#include <det/foundation/files.hpp>
#include <det/foundation/sha256.hpp>
#include <det/foundation/text.hpp>

#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace det::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t copy_size_bytes = std::size_t{1} << 20;

/// Passes the contents of a file to `take`, piece by piece.
Status read_through(fs::path const& path, std::function<Status(std::string_view)> const& take) {
    UniqueFd const file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) return os_error(fmt::format("read '{}'", path.string()), errno);
    std::string piece(copy_size_bytes, '\0');
    for (;;) {
        auto const count = ::read(file.get(), piece.data(), piece.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return os_error(fmt::format("read '{}'", path.string()), errno);
        if (count == 0) return Ok{};
        DET_TRY(take(std::string_view(piece).substr(0, static_cast<std::size_t>(count))));
    }
}

Status copy_whole(fs::path const& from, fs::path const& to) {
    UniqueFd file(::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file) return os_error(fmt::format("create '{}'", to.string()), errno);
    DET_TRY(read_through(from,
                         [&](std::string_view piece) { return write_all(file.get(), piece, to.string()); }));
    if (::close(file.release()) != 0) return os_error(fmt::format("write '{}'", to.string()), errno);
    return Ok{};
}

/// Lists the selected files and directories below `prefix`. The paths of directories end with "/".
Status list_below(fs::path const& root, std::string const& prefix, Selector const& selector,
                  Uploads& uploads) {
    DET_TRY_ASSIGN(auto const names, list_directory(root / prefix));
    for (auto const& name : names) {
        auto const path = prefix + name;
        if (path == metadata_name) continue;
        if (!is_valid_utf8(name)) {
            return Error{codes::bad_value,
                         fmt::format("'{}' is no UTF-8: a checkpoint's manifest can't name it", path),
                         "give the file another name"};
        }
        struct stat info {};
        if (::stat((root / path).c_str(), &info) != 0)
            return os_error(fmt::format("read '{}'", (root / path).string()), errno);
        bool const is_directory = S_ISDIR(info.st_mode);
        auto const upload = is_directory ? path + "/" : path;
        if (!selector || selector(upload)) uploads.emplace(upload, "");
        if (is_directory) DET_TRY(list_below(root, upload, selector, uploads));
    }
    return Ok{};
}

}  // namespace

std::string identify(fs::path const& directory) {
    // Inode numbers are unique on one machine only.
    auto const machine = read_file("/proc/sys/kernel/random/boot_id");
    struct stat info {};
    if (!machine || ::stat(directory.c_str(), &info) != 0) return "";
    return fmt::format("{} {} {}", trim(*machine), info.st_dev, info.st_ino);
}

Result<Uploads> list_sources(fs::path const& directory, Selector const& selector) {
    Uploads uploads;
    DET_TRY(list_below(directory, "", selector, uploads));
    return uploads;
}

Result<std::string> digest_of(fs::path const& path) {
    Sha256 sum;
    DET_TRY(read_through(path, [&](std::string_view piece) {
        sum.update(piece);
        return Status(Ok{});
    }));
    return sum.finish();
}

Status copy_sources(fs::path const& from, std::vector<std::string> const& paths, fs::path const& to) {
    for (auto const& path : paths) {
        auto const target = to / path;  // of "a/b/" the parent is "a/b"
        DET_TRY(make_directories(target.parent_path()));
        if (!path.ends_with('/')) DET_TRY(copy_whole(from / path, target));
    }
    return Ok{};
}

}  // namespace det::checkpoint
