#include "source_files.hpp"

#include <det/foundation/files.hpp>
#include <det/foundation/sha256.hpp>
#include <det/foundation/shared_directory.hpp>

#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <functional>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

#include "checkpoint_files.hpp"
#include "checkpoint_owner.hpp"

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
    share_new_file(file.get(), to);
    DET_TRY(read_through(from,
                         [&](std::string_view piece) { return write_all(file.get(), piece, to.string()); }));
    if (::close(file.release()) != 0) return os_error(fmt::format("write '{}'", to.string()), errno);
    return Ok{};
}

/// Lists the selected files and directories below `prefix`.
Status list_below(fs::path const& root, std::string const& prefix, Selector const& selector,
                  Uploads& uploads) {
    DET_TRY_ASSIGN(auto const names, list_directory(root / prefix));
    for (auto const& name : names) {
        auto const path = prefix + name;
        if (path == metadata_name) continue;
        DET_TRY(check_name(path));
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

/// Copies a file or a directory without its contents into another directory. Replaces what an earlier attempt
/// has left.
Status copy_source(fs::path const& from, std::string const& path, fs::path const& to) {
    auto const target = to / path;  // of "a/b/" the parent is "a/b"
    DET_TRY(make_directories(target.parent_path()));
    if (path.ends_with('/')) return Ok{};
    ::unlink(target.c_str());
    auto copied = copy_whole(from / path, target);
    if (!copied) ::unlink(target.c_str());
    return copied;
}

/// Syncs a file. If that fails, its bytes may be lost, and it is copied again; a file that the program has
/// written into the checkpoint's directory can't be.
Result<CheckpointFile> sync_source(fs::path const& target, std::string const& path,
                                   std::optional<fs::path> const& copied_from, WriteRetry const& retry) {
    auto synced = sync_and_sum(target, path);
    if (synced || !copied_from || !may_succeed_later(synced.error())) return synced;
    SystemClock clock;
    return repeat_write(clock, retry, [&]() -> Result<CheckpointFile> {
        DET_TRY(copy_source(*copied_from, path, target));
        return sync_and_sum(target, path);
    });
}

}  // namespace

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

Status copy_sources(fs::path const& from, std::vector<std::string> const& paths, fs::path const& to,
                    WriteRetry const& retry) {
    SystemClock clock;
    for (auto const& path : paths)
        DET_TRY(repeat_write(clock, retry, [&] { return copy_source(from, path, to); }));
    return Ok{};
}

Result<std::vector<CheckpointFile>> put_sources(Store& store, std::string const& uuid, fs::path const& target,
                                                std::vector<std::string> const& paths,
                                                std::optional<fs::path> const& copied_from) {
    std::vector<CheckpointFile> files;
    std::set<fs::path> directories;
    for (auto const& path : paths) {
        directories.insert((target / path).parent_path());
        if (path.ends_with('/')) continue;
        DET_TRY_ASSIGN(auto file, sync_source(target, path, copied_from, store.write_retry()));
        files.push_back(std::move(file));
    }
    SystemClock clock;
    for (auto const& directory : directories) {
        DET_TRY(repeat_write(clock, store.write_retry(), [&]() -> Status {
            // Ranks may share the checkpoint's own directory: publish() restricts it when all have written.
            if (directory != target) DET_TRY(keep_from_others(directory));
            return sync_directory(directory);
        }));
    }
    DET_TRY(store.put_files(uuid, files));
    return files;
}

std::vector<std::string> directories_of(std::vector<std::string> const& paths) {
    std::set<std::string> directories;
    for (auto const& path : paths) {
        for (auto slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1))
            directories.insert(path.substr(0, slash));
    }
    return {directories.begin(), directories.end()};
}

Status add_directory(Store& store, fs::path const& directory, CheckpointManifest& manifest) {
    DET_TRY_ASSIGN(auto const uploads, list_sources(directory, nullptr));
    std::vector<std::string> paths;
    for (auto const& [path, digest] : uploads) paths.push_back(path);
    for (auto const& file : manifest.files) {
        if (uploads.contains(file.path))
            return Error{codes::file_system,
                         fmt::format("the checkpoint has a file '{}' of its own", file.path)};
    }
    SystemClock clock;
    auto const& retry = store.write_retry();
    DET_TRY_ASSIGN(auto const target,
                   repeat_write(clock, retry, [&] { return store.create_directory(manifest.uuid); }));
    DET_TRY(copy_sources(directory, paths, target, retry));
    DET_TRY_ASSIGN(auto files, put_sources(store, manifest.uuid, target, paths, directory));
    manifest.files.insert(manifest.files.end(), files.begin(), files.end());
    manifest.directories = directories_of(paths);
    return Ok{};
}

}  // namespace det::checkpoint
