#include <det/checkpoint/shared_fs_store.hpp>
#include <det/foundation/bytes.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/foundation/uuid.hpp>

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace det::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t manifest_limit_bytes = std::size_t{64} << 20;
constexpr std::size_t block_size_bytes = std::size_t{1} << 20;

enum class Sync { no, yes };

/// Size and checksum of a file, and that its bytes are on the disk.
Result<CheckpointFile> read_through(fs::path const& directory, std::string const& relative, Sync sync) {
    auto const path = directory / relative;
    UniqueFd const file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!file) return os_error(fmt::format("read '{}'", path.string()), errno);
    CheckpointFile result{relative, 0, 0};
    std::vector<char> block(block_size_bytes);
    for (;;) {
        auto const count = ::read(file.get(), block.data(), block.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return os_error(fmt::format("read '{}'", path.string()), errno);
        if (count == 0) break;
        result.size_bytes += static_cast<std::uint64_t>(count);
        result.crc32c =
            crc32c(std::string_view(block.data(), static_cast<std::size_t>(count)), result.crc32c);
    }
    if (sync == Sync::yes && ::fsync(file.get()) != 0)
        return os_error(fmt::format("sync '{}'", path.string()), errno);
    return result;
}

/// Adds what lies below `prefix` to the manifest, in sorted order, and syncs each directory.
Status collect(fs::path const& root, std::string const& prefix, CheckpointManifest& manifest) {
    DET_TRY_ASSIGN(auto const names, list_directory(root / prefix));
    for (auto const& name : names) {
        auto const relative = prefix.empty() ? name : prefix + "/" + name;
        if (!is_valid_utf8(name)) {
            return Error{codes::bad_value,
                         fmt::format("'{}' is no UTF-8: a checkpoint's manifest can't name it", relative),
                         "give the file another name"};
        }
        struct stat info {};
        if (::lstat((root / relative).c_str(), &info) != 0) {
            return os_error(fmt::format("read '{}'", (root / relative).string()), errno);
        }
        if (S_ISDIR(info.st_mode)) {
            manifest.directories.push_back(relative);
            DET_TRY(collect(root, relative, manifest));
        } else if (S_ISREG(info.st_mode)) {
            DET_TRY_ASSIGN(auto file, read_through(root, relative, Sync::yes));
            manifest.files.push_back(std::move(file));
        } else {
            return Error{
                codes::bad_value,
                fmt::format("'{}' is neither a file nor a directory: a checkpoint can't hold it", relative),
                "write a copy of what the link points to"};
        }
    }
    return sync_directory(root / prefix);
}

bool stays_inside(std::string const& relative) {
    fs::path const path(relative);
    return !relative.empty() && path.is_relative() &&
           std::none_of(path.begin(), path.end(), [](auto const& part) { return part == ".."; });
}

Error damaged(std::string const& uuid, std::string why) {
    return Error{codes::checkpoint_damaged, fmt::format("checkpoint {} is damaged: {}", uuid, why),
                 "go back to an older checkpoint of the trial"};
}

}  // namespace

Result<fs::path> SharedFsStore::begin(std::string const& uuid) {
    DET_TRY(make_directories(root_));
    DET_TRY_ASSIGN(bool const made, make_directory(path_of(uuid)));
    if (!made) return Error{codes::misuse, fmt::format("a checkpoint {} has been begun already", uuid)};
    return path_of(uuid);
}

Result<CheckpointManifest> SharedFsStore::commit(Description const& description,
                                                 std::function<Status()> const& may_commit) {
    auto const directory = path_of(description.uuid);
    DET_TRY(write_file(directory / metadata_name,
                       description.metadata.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"));
    CheckpointManifest manifest{description.uuid,
                                description.run,
                                description.steps_completed,
                                description.time,
                                description.world_size,
                                {},
                                {},
                                description.metadata};
    DET_TRY(collect(directory, "", manifest));
    if (path_exists(directory / manifest_name)) {
        return Error{codes::bad_value,
                     fmt::format("a checkpoint can't hold a file '{}': the store writes it", manifest_name),
                     "give the file another name"};
    }
    DET_TRY(may_commit());
    DET_TRY(write_file(directory / manifest_name, render_manifest(manifest), 0600, Durability::power_loss));
    DET_TRY(sync_directory(root_));
    return manifest;
}

Result<CheckpointManifest> SharedFsStore::find(std::string const& uuid) const {
    if (!is_uuid(uuid))
        return Error{codes::no_such_checkpoint, fmt::format("'{}' is no checkpoint's UUID", uuid)};
    auto const text = read_file(path_of(uuid) / manifest_name, manifest_limit_bytes);
    if (!text && text.error().code == codes::no_such_file) {
        return Error{codes::no_such_checkpoint,
                     fmt::format("there is no checkpoint {} in '{}'", uuid, root_.string())};
    }
    if (!text) return text.error();
    auto manifest = parse_manifest(*text);
    if (!manifest && manifest.error().code == codes::damaged) return damaged(uuid, manifest.error().message);
    if (!manifest) return manifest;
    if (manifest->uuid != uuid)
        return damaged(uuid, fmt::format("its manifest is that of {}", manifest->uuid));
    for (auto const& file : manifest->files) {
        if (!stays_inside(file.path)) return damaged(uuid, fmt::format("its manifest names '{}'", file.path));
    }
    return manifest;
}

Result<CheckpointManifest> SharedFsStore::verify(std::string const& uuid) const {
    DET_TRY_ASSIGN(auto manifest, find(uuid));
    for (auto const& expected : manifest.files) {
        auto const actual = read_through(path_of(uuid), expected.path, Sync::no);
        if (!actual) return damaged(uuid, actual.error().message);
        if (actual->size_bytes != expected.size_bytes) {
            return damaged(uuid, fmt::format("'{}' has {} bytes in place of {}", expected.path,
                                             actual->size_bytes, expected.size_bytes));
        }
        if (actual->crc32c != expected.crc32c) {
            return damaged(uuid, fmt::format("the checksum of '{}' does not match", expected.path));
        }
    }
    return manifest;
}

}  // namespace det::checkpoint
