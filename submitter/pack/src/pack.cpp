#include <det/foundation/files.hpp>
#include <det/pack/pack.hpp>

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive_writer.hpp"

namespace det::pack {
namespace {

namespace fs = std::filesystem;

Error changed(std::string const& place) {
    return Error{codes::file_system, fmt::format("'{}' changed while it was packed", place),
                 "try again once nobody writes to it"};
}

/// Opens a tree's files in their order, relative to their directory. The directory stays open, because most
/// files are in the directory of the previous file.
class Opener {
public:
    explicit Opener(ContextTree const& tree) : tree_(tree) {}

    Result<UniqueFd> open(Member const& member) {
        auto const& source = tree_.sources[member.source];
        // A source that is a file may be named through a link. A file below a source directory was no link
        // when it was listed.
        if (!source.is_directory) return check(open_at(AT_FDCWD, source.path.c_str(), 0), member);
        auto const slash = member.path.rfind('/') + 1;  // 0 if there is none
        auto const directory = std::string_view(member.path).substr(0, slash);
        if (!directory_ || source_ != member.source || name_ != directory) {
            auto const parent = fs::path(tree_.disk_path(member)).parent_path();
            directory_ =
                UniqueFd(::open(parent.empty() ? "." : parent.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
            source_ = member.source;
            name_ = directory;
        }
        return check(open_at(directory_.get(), member.path.c_str() + slash, O_NOFOLLOW), member);
    }

private:
    /// O_NONBLOCK: opening a fifo that replaced the file must not block.
    static UniqueFd open_at(int directory, char const* name, int flags) {
        return UniqueFd(::openat(directory, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags));
    }
    /// Translates the errno of a failed open: EBADF means that the directory could not be opened.
    Result<UniqueFd> check(UniqueFd file, Member const& member) const {
        if (file) return file;
        int const reason = errno;
        auto const place = tree_.disk_path(member);
        for (int const gone : {ENOENT, ENOTDIR, ELOOP, ENXIO, EBADF}) {
            if (reason == gone) return changed(place);
        }
        return os_error(fmt::format("read '{}'", place), reason);
    }

    ContextTree const& tree_;
    UniqueFd directory_;
    std::size_t source_ = 0;
    std::string name_;  // path of the directory in the context
};

Status write_content(ContextTree const& tree, Member const& member, Opener& opener, ArchiveWriter& archive) {
    DET_TRY_ASSIGN(auto const file, opener.open(member));
    for (auto left = member.size_bytes;;) {
        // Reads one byte more than listed, so that the end of the file needs no other call.
        auto const free_space = archive.free_space();
        auto const wanted = std::min<std::uint64_t>(free_space.size(), left + 1);
        auto const result = ::read(file.get(), free_space.data(), wanted);
        if (result < 0 && errno == EINTR) continue;
        if (result < 0 && (errno == EISDIR || errno == EAGAIN)) return changed(tree.disk_path(member));
        if (result < 0) return os_error(fmt::format("read '{}'", tree.disk_path(member)), errno);
        auto const count = static_cast<std::uint64_t>(result);
        if (count > left || (count == 0 && left != 0)) return changed(tree.disk_path(member));
        left -= count;
        DET_TRY(archive.advance(count));
        if (left == 0 && count < wanted) return Ok{};
    }
}

Result<ArchiveWriter::Finished> write_archive(ContextTree const& tree, ArchiveWriter& archive) {
    Opener opener(tree);
    for (auto const& member : tree.members) {
        DET_TRY(archive.write(render_tar_header(member)));
        if (member.kind != Member::Kind::file) continue;
        DET_TRY(write_content(tree, member, opener, archive));
        DET_TRY(archive.write(tar_padding(member.size_bytes)));
    }
    DET_TRY(archive.write(tar_end()));
    return archive.finish();
}

constexpr std::string_view temporary_prefix = ".context.";
// Packing takes seconds and writes continuously, so an older file is stale.
constexpr time_t old_s = 24 * 60 * 60;

/// Removes old temporary files. Their age is compared with the file `fresh`, which was created just now,
/// because the file server's clock may differ from the local one.
void remove_stale_files(fs::path const& contexts, int fresh) {
    struct stat now {};
    auto const names = list_directory(contexts);
    if (!names || ::fstat(fresh, &now) != 0) return;
    for (auto const& name : *names) {
        if (!name.starts_with(temporary_prefix)) continue;
        auto const path = contexts / name;
        struct stat info {};
        if (::lstat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
        if (now.st_mtim.tv_sec - info.st_mtim.tv_sec > old_s) ::unlink(path.c_str());
    }
}

bool is_intact(std::string const& path, std::string const& sha256, std::uint64_t size_bytes) {
    struct stat info {};
    if (::lstat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return false;
    if (static_cast<std::uint64_t>(info.st_size) == size_bytes) return true;
    // The size differs if another release of zstd has compressed the same contents.
    auto const holds = hash_compressed_file(path);
    return holds && *holds == sha256;
}

/// An archive that is being written under a temporary name, in the directory of the finished archives.
/// create() also removes old temporary files of killed processes. The destructor removes the temporary name.
class TemporaryArchive {
public:
    static Result<TemporaryArchive> create(fs::path const& contexts);
    TemporaryArchive(TemporaryArchive&&) noexcept;
    TemporaryArchive& operator=(TemporaryArchive&&) = delete;
    ~TemporaryArchive();

    int fd() const { return file_.get(); }
    std::string const& path() const { return path_; }

    enum class StoreResult {
        stored,
        existed,   // the archive existed; this file is not needed
        repaired,  // a damaged archive was replaced
    };
    /// Gives the file its name after its bytes are on the disk. An existing archive of this name stays if it
    /// has the same size or its contents have the right hash.
    Result<StoreResult> store_as(std::string const& sha256, std::uint64_t size_bytes);

private:
    TemporaryArchive(std::string path, UniqueFd file) : path_(std::move(path)), file_(std::move(file)) {}

    std::string path_;  // the temporary name; empty if there is nothing to remove
    UniqueFd file_;
};

Result<TemporaryArchive> TemporaryArchive::create(fs::path const& contexts) {
    constexpr int attempts = 5;
    for (int attempt = 1;; ++attempt) {
        DET_TRY(make_directories(contexts));
        auto path = (contexts / (std::string(temporary_prefix) + "XXXXXX")).string();
        UniqueFd file(::mkostemp(path.data(), O_CLOEXEC));
        if (file) {
            remove_stale_files(contexts, file.get());
            return TemporaryArchive(std::move(path), std::move(file));
        }
        // A failed creation of another process may remove the empty directory.
        if (errno != ENOENT || attempt == attempts)
            return os_error(fmt::format("create a file in '{}'", contexts.string()), errno);
    }
}

TemporaryArchive::TemporaryArchive(TemporaryArchive&& other) noexcept
    : path_(std::exchange(other.path_, {})), file_(std::move(other.file_)) {}

TemporaryArchive::~TemporaryArchive() {
    if (!path_.empty()) ::unlink(path_.c_str());
}

Result<TemporaryArchive::StoreResult> TemporaryArchive::store_as(std::string const& sha256,
                                                                 std::uint64_t size_bytes) {
    auto const contexts = fs::path(path_).parent_path();
    auto const path = (contexts / (sha256 + ".tar.zst")).string();
    if (is_intact(path, sha256, size_bytes)) return StoreResult::existed;
    if (::fsync(file_.get()) != 0) return os_error(fmt::format("sync '{}'", path_), errno);
    // link(2), not rename: on NFS a replaced file is lost to its readers on other machines.
    auto stored_as = StoreResult::stored;
    if (::link(path_.c_str(), path.c_str()) != 0) {
        if (errno != EEXIST) return os_error(fmt::format("write '{}'", path), errno);
        if (is_intact(path, sha256, size_bytes)) return StoreResult::existed;
        if (::rename(path_.c_str(), path.c_str()) != 0)
            return os_error(fmt::format("replace the damaged '{}'", path), errno);
        path_.clear();
        stored_as = StoreResult::repaired;
    }
    DET_TRY(sync_directory(contexts));
    return stored_as;
}

Result<PackedContext> store(ContextTree const& tree, fs::path const& contexts) {
    DET_TRY_ASSIGN(auto archive, TemporaryArchive::create(contexts));
    ArchiveWriter writer(archive.fd(), archive.path(), tree.size_bytes);
    DET_TRY_ASSIGN(auto const finished, write_archive(tree, writer));
    DET_TRY_ASSIGN(auto const stored_as, archive.store_as(finished.sha256, finished.file_size_bytes));
    return PackedContext{finished.sha256, tree.size_bytes,
                         stored_as == TemporaryArchive::StoreResult::existed,
                         stored_as == TemporaryArchive::StoreResult::repaired};
}

}  // namespace

Result<PackedContext> pack_context(ContextTree const& tree, fs::path const& contexts) {
    auto packed = store(tree, contexts);
    if (packed) return packed;
    return std::move(packed).error().while_doing("packing the context");
}

Status receive_context(ReadArchive const& read, std::string const& sha256, fs::path const& contexts) {
    constexpr std::size_t buffer_bytes = std::size_t{1} << 16;
    DET_TRY_ASSIGN(auto archive, TemporaryArchive::create(contexts));
    std::string buffer(buffer_bytes, '\0');
    std::uint64_t size_bytes = 0;
    while (auto const count = read(std::span<char>(buffer))) {
        DET_TRY(
            write_all(archive.fd(), std::string_view(buffer).substr(0, count), "write the received code"));
        size_bytes += count;
    }
    auto const holds = hash_compressed_file(archive.path());
    if (!holds || *holds != sha256)
        return Error{codes::damaged, "the code arrived incomplete or damaged", "send it again"};
    DET_TRY(archive.store_as(sha256, size_bytes));
    return Ok{};
}

}  // namespace det::pack
