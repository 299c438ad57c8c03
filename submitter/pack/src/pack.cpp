#include <det/foundation/files.hpp>
#include <det/pack/pack.hpp>

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive_writer.hpp"
#include "compressor.hpp"
#include "temporary_archive.hpp"

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
        // A source that is a file may be named through a link. A file below a source directory, or to which a
        // link leads, was no link when it was listed.
        int const flags = source.followed_from ? O_NOFOLLOW : 0;
        if (!source.is_directory) return check(open_at(AT_FDCWD, source.path.c_str(), flags), member);
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

/// Other users may change a path that leads out of the context. So the owner is that of the opened file.
Status require_own_file(ContextTree const& tree, Member const& member, UniqueFd const& file) {
    if (!tree.sources[member.source].followed_from) return Ok{};
    struct stat info {};
    if (::fstat(file.get(), &info) == 0 && info.st_uid == ::geteuid()) return Ok{};
    return changed(tree.disk_path(member));
}

Status write_content(ContextTree const& tree, Member const& member, Opener& opener, ArchiveWriter& archive) {
    DET_TRY_ASSIGN(auto const file, opener.open(member));
    DET_TRY(require_own_file(tree, member, file));
    for (auto left = member.size_bytes;;) {
        // Reads one byte more than listed, so that the end of the file needs no other call.
        auto const write_buffer = archive.write_buffer();
        auto const wanted = std::min<std::uint64_t>(write_buffer.size(), left + 1);
        auto const result = ::read(file.get(), write_buffer.data(), wanted);
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

Error while_packing(Error error) { return std::move(error).while_doing("packing the context"); }

}  // namespace

struct PackedTree::State {
    TemporaryArchive archive;
    ArchiveWriter::Finished finished;
    std::uint64_t tree_size_bytes;
};

PackedTree::PackedTree(std::unique_ptr<State> state) : state_(std::move(state)) {}
PackedTree::PackedTree(PackedTree&&) noexcept = default;
PackedTree::~PackedTree() = default;

std::string const& PackedTree::sha256() const { return state_->finished.sha256; }

Result<StoredContext> PackedTree::store(SyncThread* syncs) {
    auto& [archive, finished, tree_size_bytes] = *state_;
    using StoreResult = TemporaryArchive::StoreResult;
    auto const stored_as = archive.store_as(finished.sha256, finished.file_size_bytes, syncs);
    if (!stored_as) return while_packing(stored_as.error());
    return StoredContext{finished.sha256, tree_size_bytes, *stored_as == StoreResult::existed,
                         *stored_as == StoreResult::repaired};
}

Result<PackedTree> pack_tree(ContextTree const& tree, fs::path const& contexts) {
    auto archive = TemporaryArchive::create(contexts);
    if (!archive) return while_packing(std::move(archive).error());
    ArchiveWriter writer(archive->fd(), archive->path(), tree.size_bytes);
    auto finished = write_archive(tree, writer);
    if (!finished) return while_packing(std::move(finished).error());
    if (!archive->is_stored(finished->sha256, finished->file_size_bytes)) {
        if (auto synced = archive->sync(); !synced) return while_packing(std::move(synced).error());
    }
    return PackedTree(std::unique_ptr<PackedTree::State>(
        new PackedTree::State{*std::move(archive), *std::move(finished), tree.size_bytes}));
}

Status receive_context(ReadArchive const& read, std::string const& sha256, fs::path const& contexts) {
    constexpr std::size_t buffer_bytes = std::size_t{1} << 16;
    DET_TRY_ASSIGN(auto archive, TemporaryArchive::create(contexts));
    std::string buffer(buffer_bytes, '\0');
    std::uint64_t size_bytes = 0;
    while (auto const count = read(std::span<char>(buffer))) {
        DET_TRY(write_all(archive.fd(), std::string_view(buffer).substr(0, count), "the received code"));
        size_bytes += count;
    }
    auto const holds = hash_decompressed(archive.path());
    if (!holds || *holds != sha256)
        return Error{codes::damaged, "the code arrived incomplete or damaged", "send it again"};
    DET_TRY(archive.store_as(sha256, size_bytes));
    return Ok{};
}

}  // namespace det::pack
