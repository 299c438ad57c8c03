#include "extract.hpp"

#include <det/foundation/files.hpp>
#include <det/foundation/sha256.hpp>
#include <det/foundation/text.hpp>

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

#include "block_stream.hpp"
#include "scan_tree.hpp"

namespace det::experiment_pack {
namespace {

namespace fs = std::filesystem;
using Kind = Entry::Kind;

timespec time_of(std::int64_t ns) {
    constexpr std::int64_t second = 1'000'000'000;
    auto const below_second = (ns % second + second) % second;
    return {(ns - below_second) / second, below_second};
}

class Extraction {
public:
    Extraction(PackFile const& pack, fs::path const& directory, ExtractFor purpose)
        : pack_(pack),
          directory_(directory),
          temporary_(directory / (std::string(temporary_prefix) + "file")),
          purpose_(purpose),
          reader_(pack.head.file.get(), pack.head.path.string(), pack.head.size_bytes, pack.index) {}

    Status run() {
        for (auto const& entry : pack_.index.entries) {
            if (!is_extracted(entry, purpose_)) continue;
            DET_TRY(write(entry));
            if (purpose_ == ExtractFor::reading) written_.insert(entry.path);
        }
        return finish_directories();
    }

private:
    bool restores() const { return purpose_ == ExtractFor::restoring; }
    fs::path path_of(Entry const& entry) const {
        return entry.path.empty() ? directory_ : directory_ / entry.path;
    }
    static Status failed(fs::path const& path) {
        return os_error(fmt::format("write '{}'", path.string()), errno);
    }

    Status write(Entry const& entry) {
        if (entry.kind == Kind::directory) {
            return entry.path.empty() ? Status(Ok{}) : write_directory(path_of(entry));
        }
        DET_TRY(clear_name(entry));
        if (entry.kind == Kind::file) return write_file_of(entry);
        if (entry.kind == Kind::hardlink) {
            if (!restores() && !written_.contains(entry.target)) return Ok{};
            if (::link((directory_ / entry.target).c_str(), path_of(entry).c_str()) != 0)
                return failed(path_of(entry));
            return Ok{};
        }
        // Under its own name it has its time: an interrupted command knows it again by that.
        (void)::unlink(temporary_.c_str());
        if (::symlink(entry.target.c_str(), temporary_.c_str()) != 0) return failed(temporary_);
        DET_TRY(set_group_and_time(entry, temporary_));
        if (::rename(temporary_.c_str(), path_of(entry).c_str()) != 0) return failed(path_of(entry));
        return Ok{};
    }

    /// A directory may be left from an interrupted command, and may have its final mode.
    static Status write_directory(fs::path const& path) {
        if (::mkdir(path.c_str(), 0700) == 0) return Ok{};
        struct stat info {};
        if (errno != EEXIST || ::lstat(path.c_str(), &info) != 0) return failed(path);
        if (!S_ISDIR(info.st_mode))
            return Error{codes::name_taken, fmt::format("'{}' is not a directory", path.string())};
        if (::chmod(path.c_str(), 0700) != 0) return failed(path);
        return Ok{};
    }

    /// Removes a file that an interrupted `--pack` or `--unpack` has left under the name of the entry.
    Status clear_name(Entry const& entry) const {
        auto const path = path_of(entry);
        struct stat info {};
        if (::lstat(path.c_str(), &info) != 0) {
            if (errno == ENOENT) return Ok{};
            return failed(path);
        }
        if (!is_unchanged(info, entry)) {
            return Error{codes::name_taken,
                         fmt::format("'{}' is not the file that was packed", path.string()),
                         "move it to another directory, and repeat the command"};
        }
        if (::unlink(path.c_str()) != 0) return failed(path);
        return Ok{};
    }

    Status write_file_of(Entry const& entry) {
        (void)::unlink(temporary_.c_str());
        UniqueFd file(::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
        if (!file) return failed(temporary_);
        auto done = write_contents(entry, file.get());
        if (done) done = set_group_and_time(entry, temporary_);
        if (done && restores() && ::fchmod(file.get(), entry.mode) != 0) done = failed(temporary_);
        // NFS and quotas may report a full disk only at close.
        if (done && ::close(file.release()) != 0) done = failed(temporary_);
        if (done && ::rename(temporary_.c_str(), path_of(entry).c_str()) != 0) done = failed(path_of(entry));
        if (!done) (void)::unlink(temporary_.c_str());
        return done;
    }

    Status write_contents(Entry const& entry, int file) {
        Sha256 hash;
        auto at = entry.contents_at;
        for (auto const& extent : entry.data) {
            if (::lseek(file, static_cast<off_t>(extent.at), SEEK_SET) < 0) return failed(temporary_);
            for (auto const end = at + extent.size_bytes; at < end;) {
                DET_TRY_ASSIGN(auto const bytes, reader_.read(at, end - at));
                hash.update(bytes);
                DET_TRY(write_all(file, bytes, temporary_.string()));
                at += bytes.size();
            }
        }
        if (::ftruncate(file, static_cast<off_t>(entry.size_bytes)) != 0) return failed(temporary_);
        if (hash.finish() == entry.sha256) return Ok{};
        return Error{codes::damaged, fmt::format("'{}' in the pack '{}' has another checksum",
                                                 escape_path(entry.path), pack_.head.path.string())};
    }

    Status set_group_and_time(Entry const& entry, fs::path const& path) const {
        struct stat info {};
        if (restores() && (::lstat(path.c_str(), &info) != 0 ||
                           (info.st_gid != entry.group &&
                            ::lchown(path.c_str(), static_cast<uid_t>(-1), entry.group) != 0)))
            return failed(path);
        return set_time(entry, path);
    }

    static Status set_time(Entry const& entry, fs::path const& path) {
        timespec const times[2] = {{0, UTIME_OMIT}, time_of(entry.modified_ns)};
        if (::utimensat(AT_FDCWD, path.c_str(), times, AT_SYMLINK_NOFOLLOW) != 0) return failed(path);
        return Ok{};
    }

    /// Sets the modes and times of directories after all files have been written: the last one first, so
    /// that each directory is set after those in it.
    Status finish_directories() const {
        auto const& entries = pack_.index.entries;
        for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
            if (entry->kind != Kind::directory || entry->path.empty() || !is_extracted(*entry, purpose_))
                continue;
            auto const path = path_of(*entry);
            DET_TRY(set_group_and_time(*entry, path));
            if (restores() && ::chmod(path.c_str(), entry->mode) != 0) return failed(path);
        }
        return Ok{};
    }

    PackFile const& pack_;
    fs::path directory_;
    fs::path temporary_;
    ExtractFor purpose_;
    BlockReader reader_;
    std::set<std::string> written_;
};

}  // namespace

bool is_extracted(Entry const& entry, ExtractFor purpose) {
    if (purpose == ExtractFor::restoring) return true;
    if (entry.kind == Kind::symlink) return false;
    auto const parts = split(entry.path, '/');
    return parts.size() < 3 || parts[0] != "trials" || parts[2] != "generations";
}

Status extract(PackFile const& pack, fs::path const& directory, ExtractFor purpose) {
    return Extraction(pack, directory, purpose).run();
}

}  // namespace det::experiment_pack
