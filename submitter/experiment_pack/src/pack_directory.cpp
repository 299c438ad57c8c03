#include <det/experiment_pack/pack_directory.hpp>
#include <det/experiment_pack/pack_file.hpp>
#include <det/experiment_pack/pack_lock.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/temporary_names.hpp>
#include <det/foundation/trusted_file.hpp>

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "extract.hpp"
#include "pack_writer.hpp"
#include "scan_tree.hpp"

namespace det::experiment_pack {
namespace {

namespace fs = std::filesystem;
using Kind = Entry::Kind;

/// A file that is removed unless it gets its final name.
class UnfinishedFile {
public:
    explicit UnfinishedFile(fs::path path) : path_(std::move(path)) {}
    ~UnfinishedFile() { (void)::unlink(path_.c_str()); }
    UnfinishedFile(UnfinishedFile const&) = delete;
    UnfinishedFile& operator=(UnfinishedFile const&) = delete;
    fs::path const& path() const { return path_; }

private:
    fs::path path_;
};

/// The pack shows the names and contents of all files: others may read it if they may read each of them.
mode_t mode_of_pack(std::vector<Entry> const& entries) {
    mode_t common = 0444;
    for (auto const& entry : entries) {
        if (entry.kind == Kind::symlink) continue;
        auto const needs_search = entry.kind == Kind::directory;
        auto const readable = needs_search ? entry.mode & (entry.mode << 2) : entry.mode;
        common &= readable;
    }
    return 0600 | common;
}

/// Removes the files that the pack has. Keeps those that changed since, and directories that are not empty.
Status remove_packed(fs::path const& directory, std::vector<Entry> const& entries) {
    for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
        if (entry->path.empty()) continue;
        auto const path = directory / entry->path;
        struct stat info {};
        if (::lstat(path.c_str(), &info) != 0 || !is_unchanged(info, *entry)) continue;
        if (entry->kind == Kind::directory) {
            // An own directory may forbid to remove what is in it.
            if ((info.st_mode & S_IRWXU) != S_IRWXU) (void)::chmod(path.c_str(), info.st_mode | S_IRWXU);
            if (::rmdir(path.c_str()) != 0 && errno != ENOTEMPTY && errno != EEXIST && errno != ENOENT)
                return os_error(fmt::format("remove '{}'", path.string()), errno);
        } else if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
            return os_error(fmt::format("remove '{}'", path.string()), errno);
        }
    }
    return Ok{};
}

/// Makes directories writable, so that the files in them can be removed.
void open_directories(fs::path const& directory, std::vector<Entry> const& entries) {
    for (auto const& entry : entries) {
        if (entry.kind != Kind::directory || entry.path.empty() || (entry.mode & S_IRWXU) == S_IRWXU)
            continue;
        (void)::chmod((directory / entry.path).c_str(), entry.mode | S_IRWXU);
    }
}

/// Whether two listings describe the same files, apart from where their contents are in the pack.
bool is_same_tree(std::vector<Entry> const& listed, std::vector<Entry> const& now) {
    return std::ranges::equal(listed, now, [](Entry const& a, Entry const& b) {
        // The pack is written into the directory of the experiment, whose time that changes.
        bool const has_same_time = a.modified_ns == b.modified_ns || a.path.empty();
        return a.path == b.path && a.kind == b.kind && a.mode == b.mode && a.target == b.target &&
               a.size_bytes == b.size_bytes && has_same_time;
    });
}

Result<PackReport> report_of(PackFile const& pack) {
    struct stat info {};
    if (::fstat(pack.head.file.get(), &info) != 0)
        return os_error(fmt::format("read '{}'", pack.head.path.string()), errno);
    return PackReport{pack.head.path, pack.index.entries.size(), pack.index.contents_bytes(),
                      static_cast<std::uint64_t>(info.st_size)};
}

/// Gives the pack its name in the experiment's directory, which makes the experiment packed.
Status commit_inside(fs::path const& directory, fs::path const& unfinished) {
    auto const name = directory / ExperimentLayout::pack_name;
    if (rename_own(unfinished, name) != 0) return os_error(fmt::format("create '{}'", name.string()), errno);
    return sync_directory(directory);
}

Status commit_elsewhere(fs::path const& directory, fs::path const& unfinished, fs::path const& target) {
    DET_TRY_ASSIGN(bool const is_new, link_new_file(unfinished, target));
    if (!is_new) {
        return Error{codes::name_taken, fmt::format("'{}' exists already", target.string()),
                     "name another directory"};
    }
    auto committed = sync_directory(target.parent_path());
    UnfinishedFile const link(temporary_name(directory, temporary_prefix));
    if (committed && ::symlink(target.c_str(), link.path().c_str()) != 0)
        committed = os_error(fmt::format("create '{}'", link.path().string()), errno);
    if (committed) committed = commit_inside(directory, link.path());
    if (!committed && !path_exists(directory / ExperimentLayout::pack_name)) (void)::unlink(target.c_str());
    return committed;
}

/// Removes what an interrupted `--pack` has left beside a complete pack.
Result<PackReport> finish_packing(fs::path const& directory) {
    DET_TRY_ASSIGN(auto const pack, PackFile::open(directory));
    DET_TRY(pack.verify());
    DET_TRY(remove_packed(directory, pack.index.entries));
    return report_of(pack);
}

/// Writes all data of the file system to the disk: one call for the many files of an experiment.
Status sync_file_system(fs::path const& directory) {
    UniqueFd const opened(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!opened || ::syncfs(opened.get()) != 0)
        return os_error(fmt::format("sync '{}'", directory.string()), errno);
    return Ok{};
}

/// The directory itself has changed by the files that were created and removed in it.
Status restore_time(fs::path const& directory, std::int64_t modified_ns) {
    auto const second = std::int64_t{1'000'000'000};
    auto const below = (modified_ns % second + second) % second;
    timespec const times[2] = {{0, UTIME_OMIT}, {(modified_ns - below) / second, below}};
    if (::utimensat(AT_FDCWD, directory.c_str(), times, 0) != 0)
        return os_error(fmt::format("set the time of '{}'", directory.string()), errno);
    return Ok{};
}

Result<PackReport> pack_files(fs::path const& directory, journal::PackSummary const& summary,
                              std::optional<fs::path> const& elsewhere) {
    DET_TRY_ASSIGN(auto const listed, scan_tree(directory));
    UnfinishedFile const unfinished(temporary_name(elsewhere.value_or(directory), temporary_prefix));
    if (elsewhere) remove_old_temporaries(*elsewhere, temporary_prefix, directory);
    DET_TRY_ASSIGN(auto const entries, write_pack(directory, listed, summary, unfinished.path()));
    DET_TRY_ASSIGN(auto file, open_trusted_file(unfinished.path()));
    DET_TRY_ASSIGN(auto head, journal::read_pack_head(std::move(file), unfinished.path()));
    DET_TRY_ASSIGN(auto pack, PackFile::load(std::move(head)));
    DET_TRY(pack.verify());
    DET_TRY_ASSIGN(auto const now, scan_tree(directory));
    if (pack.index.entries != entries || !is_same_tree(listed, now)) {
        return Error{codes::wrong_state, fmt::format("'{}' changed while it was packed", directory.string()),
                     "nothing was packed; repeat the command when no program writes there"};
    }
    if (::chmod(unfinished.path().c_str(), mode_of_pack(entries)) != 0)
        return os_error(fmt::format("set the mode of '{}'", unfinished.path().string()), errno);
    auto const target = elsewhere
                            ? *elsewhere / fmt::format("experiment-{}.detpack", summary.experiment.value)
                            : directory / ExperimentLayout::pack_name;
    DET_TRY(elsewhere ? commit_elsewhere(directory, unfinished.path(), target)
                      : commit_inside(directory, unfinished.path()));
    open_directories(directory, entries);
    DET_TRY(remove_packed(directory, entries));
    pack.head.path = target;
    return report_of(pack);
}

}  // namespace

Result<PackReport> pack_directory(PackLock const& lock, journal::PackSummary const& summary,
                                  std::optional<fs::path> const& elsewhere) {
    auto const& directory = lock.directory();
    if (path_exists(directory / ExperimentLayout::pack_name)) return finish_packing(directory);
    struct stat before {};
    if (::stat(directory.c_str(), &before) != 0)
        return os_error(fmt::format("read '{}'", directory.string()), errno);
    auto packed = pack_files(directory, summary, elsewhere);
    if (packed || path_exists(directory / ExperimentLayout::pack_name)) return packed;
    DET_TRY(restore_time(directory, modified_ns_of(before)));
    return packed;
}

Result<PackReport> unpack_directory(fs::path const& directory) {
    if (!path_exists(directory / ExperimentLayout::pack_name)) return PackFile::open(directory).error();
    DET_TRY_ASSIGN(auto const lock, PackLock::take(directory, PackLock::usual_wait));
    DET_TRY_ASSIGN(auto const pack, PackFile::open(directory));
    DET_TRY_ASSIGN(auto const report, report_of(pack));
    auto extracted = extract(pack, directory, ExtractFor::restoring);
    if (extracted) extracted = sync_file_system(directory);
    if (!extracted) {
        open_directories(directory, pack.index.entries);
        (void)remove_packed(directory, pack.index.entries);
        return std::move(extracted).error();
    }
    auto const name = directory / ExperimentLayout::pack_name;
    if (::unlink(name.c_str()) != 0) return os_error(fmt::format("remove '{}'", name.string()), errno);
    // At once, because a killed command can't do it later: without the pack nothing knows them.
    auto const& root = pack.index.entries.front();
    if (::chmod(directory.c_str(), root.mode) != 0)
        return os_error(fmt::format("set the mode of '{}'", directory.string()), errno);
    DET_TRY(restore_time(directory, root.modified_ns));
    DET_TRY(sync_directory(directory));
    if (pack.head.path != name && ::unlink(pack.head.path.c_str()) != 0 && errno != ENOENT)
        return os_error(fmt::format("remove '{}'", pack.head.path.string()), errno);
    return report;
}

}  // namespace det::experiment_pack
