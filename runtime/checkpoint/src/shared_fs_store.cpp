#include <det/checkpoint/shared_fs_store.hpp>
#include <det/checkpoint/stored_manifest.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/uuid.hpp>

#include <cerrno>
#include <fmt/format.h>
#include <unistd.h>

namespace det::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t manifest_limit_bytes = std::size_t{256} << 20;

Error absent(std::string const& uuid, fs::path const& root) {
    return {codes::no_such_checkpoint, fmt::format("there is no checkpoint {} in '{}'", uuid, root.string())};
}

}  // namespace

Result<fs::path> SharedFsStore::create_directory(std::string const& uuid) {
    DET_TRY(make_directories(root_));
    DET_TRY(make_directory(path_of(uuid)));
    return path_of(uuid);
}

Status SharedFsStore::put_files(std::string const&, std::vector<std::string> const&) { return Ok{}; }

Result<bool> SharedFsStore::share_file(std::string const& from, std::string const& uuid,
                                       std::string const& path) {
    if (::link((path_of(from) / path).c_str(), (path_of(uuid) / path).c_str()) != 0) return false;
    DET_TRY(sync_directory((path_of(uuid) / path).parent_path()));
    return true;
}

Status SharedFsStore::publish(CheckpointManifest const& manifest, MayCommit const& may_commit) {
    auto const directory = path_of(manifest.uuid);
    if (path_exists(directory / manifest_name)) return manifest_name_taken();
    DET_TRY(sync_directory(directory));
    DET_TRY(may_commit());
    DET_TRY(replace_manifest(manifest));
    return sync_directory(root_);
}

Result<CheckpointManifest> SharedFsStore::load_manifest(std::string const& uuid) const {
    DET_TRY(check_uuid(uuid));
    auto const text = read_file(path_of(uuid) / manifest_name, manifest_limit_bytes);
    if (!text && text.error().code == codes::no_such_file) return absent(uuid, root_);
    if (!text) return text.error();
    return read_manifest(uuid, *text);
}

Result<fs::path> SharedFsStore::fetch(CheckpointManifest const& manifest, Selector const&) const {
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

Status SharedFsStore::replace_manifest(CheckpointManifest const& manifest) {
    return write_file(path_of(manifest.uuid) / manifest_name, render_manifest(manifest), 0600,
                      Durability::power_loss);
}

Status SharedFsStore::remove_file(std::string const& uuid, std::string const& path) {
    auto const file = path_of(uuid) / path;
    if (::unlink(file.c_str()) != 0 && errno != ENOENT)
        return os_error(fmt::format("remove '{}'", file.string()), errno);
    return Ok{};
}

}  // namespace det::checkpoint
