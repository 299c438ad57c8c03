#include <det/checkpoint/store.hpp>
#include <det/checkpoint/stored_manifest.hpp>
#include <det/foundation/bytes.hpp>
#include <det/foundation/files.hpp>

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <sys/stat.h>

#include "checkpoint_files.hpp"

namespace det::checkpoint {
namespace {

namespace fs = std::filesystem;

/// Adds the files and directories below `prefix` to the manifest, in sorted order, and syncs each directory.
Status collect(fs::path const& root, std::string const& prefix, CheckpointManifest& manifest) {
    DET_TRY_ASSIGN(auto const names, list_directory(root / prefix));
    for (auto const& name : names) {
        auto const relative = prefix.empty() ? name : prefix + "/" + name;
        DET_TRY(check_name(relative));
        struct stat info {};
        if (::lstat((root / relative).c_str(), &info) != 0) {
            return os_error(fmt::format("read '{}'", (root / relative).string()), errno);
        }
        if (S_ISDIR(info.st_mode)) {
            manifest.directories.push_back(relative);
            DET_TRY(collect(root, relative, manifest));
        } else if (S_ISREG(info.st_mode)) {
            DET_TRY_ASSIGN(auto file, sync_and_sum(root, relative));
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

/// Copies one file. Makes the missing directories of the target.
Status copy_checkpoint_file(fs::path const& from, fs::path const& to) {
    DET_TRY(make_directories(to.parent_path()));
    std::error_code error;
    fs::copy_file(from, to, fs::copy_options::overwrite_existing, error);
    if (error) return os_error(fmt::format("copy '{}' to '{}'", from.string(), to.string()), error.value());
    return Ok{};
}

bool select_all(std::string const&) { return true; }

}  // namespace

Result<bool> Store::share_file(std::string const&, std::string const&, std::string const&) { return false; }

Result<CheckpointManifest> Store::commit(Description const& description, MayCommit const& may_commit) {
    DET_TRY_ASSIGN(auto const directory, create_directory(description.uuid));
    DET_TRY(write_metadata(directory, *description.metadata));
    CheckpointManifest manifest{description.uuid,
                                description.run,
                                description.steps_completed,
                                description.time,
                                description.world_size,
                                {},
                                {},
                                description.metadata};
    DET_TRY(collect(directory, "", manifest));
    std::vector<std::string> paths;
    for (auto const& file : manifest.files) paths.push_back(file.path);
    DET_TRY(put_files(description.uuid, paths));
    DET_TRY(publish(manifest, may_commit));
    return manifest;
}

Result<Store::Whole> Store::fetch_checked(std::string const& uuid, Selector const& selector,
                                          ReadFrom from) const {
    DET_TRY_ASSIGN(auto manifest, load_manifest(uuid));
    DET_TRY_ASSIGN(auto directory, fetch(manifest, selector));
    for (auto const& file : manifest.files) {
        if (!selector(file.path)) continue;
        auto const checked = check_file(directory, file, from);
        if (!checked && checked.error().code == codes::checkpoint_damaged)
            return damaged_error(uuid, checked.error().message);
        if (!checked) return checked.error();
    }
    return Whole{std::move(manifest), std::move(directory)};
}

Result<Store::Whole> Store::fetch_and_verify(std::string const& uuid, ReadFrom from) const {
    return fetch_checked(uuid, select_all, from);
}

Result<CheckpointManifest> Store::download(std::string const& uuid, Selector const& selector,
                                           fs::path const& target) const {
    auto const& is_selected = selector ? selector : Selector(select_all);
    DET_TRY_ASSIGN(auto whole, fetch_checked(uuid, is_selected, ReadFrom::page_cache_or_disk));
    DET_TRY(make_directories(target));
    for (auto const& directory : whole.manifest.directories) {
        if (is_selected(directory + "/")) DET_TRY(make_directories(target / directory));
    }
    for (auto const& file : whole.manifest.files) {
        if (is_selected(file.path))
            DET_TRY(copy_checkpoint_file(whole.directory / file.path, target / file.path));
    }
    return std::move(whole.manifest);
}

Result<CheckpointManifest> Store::verify_on_disk(std::string const& uuid) const {
    DET_TRY_ASSIGN(auto whole, fetch_and_verify(uuid, ReadFrom::disk));
    return std::move(whole.manifest);
}

Status Store::remove_files(std::string const& uuid, std::vector<std::string> const& paths) {
    DET_TRY_ASSIGN(auto manifest, load_manifest(uuid));
    auto const is_removed = [&](std::string const& path) {
        return std::ranges::find(paths, path) != paths.end();
    };
    std::erase_if(manifest.files, [&](auto const& file) { return is_removed(file.path); });
    std::erase_if(manifest.tensors, [&](auto const& tensor) {
        return std::ranges::any_of(tensor.slices, is_removed, &StoredSlice::file);
    });
    DET_TRY(replace_manifest(manifest));
    for (auto const& path : paths) DET_TRY(remove_file(uuid, path));
    return Ok{};
}

}  // namespace det::checkpoint
