#include <det/checkpoint/shared_fs_store.hpp>
#include <det/checkpoint/stored_manifest.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/uuid.hpp>

#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "checkpoint_owner.hpp"

namespace det::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t manifest_limit_bytes = std::size_t{256} << 20;

bool is_file_with(fs::path const& path, std::string const& text) {
    auto const found = read_file(path, text.size());
    return found && *found == text;
}

Error absent(std::string const& uuid, fs::path const& root) {
    return {codes::no_such_checkpoint, fmt::format("there is no checkpoint {} in '{}'", uuid, root.string())};
}

}  // namespace

Result<fs::path> SharedFsStore::create_directory(std::string const& uuid) {
    DET_TRY(make_directories(path_of(uuid)));
    return path_of(uuid);
}

Status SharedFsStore::put_files(std::string const&, std::span<CheckpointFile>) { return Ok{}; }

Result<bool> SharedFsStore::share_file(std::string const& from, std::string const& uuid,
                                       std::string const& path) {
    if (::link((path_of(from) / path).c_str(), (path_of(uuid) / path).c_str()) != 0) return false;
    DET_TRY(sync_directory((path_of(uuid) / path).parent_path()));
    return true;
}

Status SharedFsStore::write_manifest(CheckpointManifest const& manifest, std::string const& text,
                                     MayCommit const& may_commit) {
    auto const directory = path_of(manifest.uuid);
    // A first attempt may have written the manifest and failed to sync it.
    if (path_exists(directory / manifest_name) && !is_file_with(directory / manifest_name, text))
        return manifest_name_taken();
    DET_TRY(keep_from_others(directory));
    DET_TRY(sync_directory(directory));
    DET_TRY(may_commit());
    DET_TRY(replace_manifest(manifest.uuid, text));
    return sync_directory(root_);
}

Result<std::string> SharedFsStore::read_manifest_text(std::string const& uuid) const {
    DET_TRY_ASSIGN(auto const directory, OwnedDirectory::open(path_of(uuid), uuid, trusted_owner(uuid)));
    if (!directory) return absent(uuid, root_);
    DET_TRY_ASSIGN(auto const text, directory->read_file(manifest_name, manifest_limit_bytes));
    if (!text) return absent(uuid, root_);
    return *text;
}

Status SharedFsStore::check_files(CheckpointManifest const& manifest, Selector const& selector) const {
    auto const& uuid = manifest.uuid;
    DET_TRY_ASSIGN(auto const directory, OwnedDirectory::open(path_of(uuid), uuid, trusted_owner(uuid)));
    if (!directory) return absent(uuid, root_);
    for (auto const& file : manifest.files) {
        if (selector(file.path)) DET_TRY(directory->check(file));
    }
    return Ok{};
}

Result<fs::path> SharedFsStore::fetch(CheckpointManifest const& manifest, Selector const& selector) const {
    DET_TRY(check_files(manifest, selector));
    return path_of(manifest.uuid);
}

Result<std::vector<std::string>> SharedFsStore::list() const {
    DET_TRY_ASSIGN(auto names, list_directory(root_));
    std::erase_if(names, [](auto const& name) { return !is_uuid(name); });
    return names;
}

Status SharedFsStore::remove(std::string const& uuid) {
    DET_TRY(check_uuid(uuid));
    DET_TRY(remove_file(uuid, std::string(manifest_name)));
    return remove_tree(path_of(uuid));
}

Status SharedFsStore::replace_manifest(std::string const& uuid, std::string const& text) {
    return write_file(path_of(uuid) / manifest_name, text, 0600, Durability::power_loss);
}

Status SharedFsStore::remove_file(std::string const& uuid, std::string const& path) {
    auto const file = path_of(uuid) / path;
    if (::unlink(file.c_str()) != 0 && errno != ENOENT)
        return os_error(fmt::format("remove '{}'", file.string()), errno);
    return Ok{};
}

}  // namespace det::checkpoint
