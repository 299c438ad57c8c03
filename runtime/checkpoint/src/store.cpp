#include <det/checkpoint/store.hpp>
#include <det/checkpoint/stored_manifest.hpp>
#include <det/foundation/bytes.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/sha256.hpp>

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <sys/stat.h>

#include "checkpoint_files.hpp"
#include "checkpoint_owner.hpp"

namespace det::checkpoint {
namespace {

namespace fs = std::filesystem;

/// Adds the files and directories below `prefix` to the manifest, in sorted order, and syncs each directory.
/// A failed sync of a file is not repeated: bytes that the program has written may be lost.
Status collect(fs::path const& root, std::string const& prefix, WriteRetry const& retry,
               CheckpointManifest& manifest) {
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
            DET_TRY(collect(root, relative, retry, manifest));
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
    SystemClock clock;
    return repeat_write(clock, retry, [&]() -> Status {
        DET_TRY(keep_from_others(root / prefix));
        return sync_directory(root / prefix);
    });
}

std::string sha256_of(std::string_view text) {
    Sha256 sum;
    sum.update(text);
    return sum.finish();
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

bool is_unusable(Error const& error) {
    return error.code == codes::checkpoint_damaged || error.code == codes::checkpoint_replaced ||
           error.code == codes::checkpoint_not_yours;
}

Result<bool> Store::share_file(std::string const&, std::string const&, std::string const&) { return false; }

Status Store::check_files(CheckpointManifest const&, Selector const&) const { return Ok{}; }

Status Store::publish(CheckpointManifest& manifest, MayCommit const& may_commit) {
    auto const text = render_manifest(manifest);
    DET_TRY(write_manifest(manifest, text, may_commit));
    manifest.sha256 = sha256_of(text);
    return Ok{};
}

Result<CheckpointManifest> Store::load_manifest(std::string const& uuid) const {
    DET_TRY(check_uuid(uuid));
    auto const text = read_manifest_text(uuid);
    // A checkpoint that a journal knows and that another user can change is one that he has put in its place.
    if (!text && text.error().code == codes::checkpoint_not_yours) {
        DET_TRY_ASSIGN(auto const recorded, recorded_sums(uuid, ""));
        return recorded.empty() ? text.error() : replaced_error(uuid, text.error().message);
    }
    if (!text) return text.error();
    DET_TRY_ASSIGN(auto manifest, read_manifest(uuid, *text));
    manifest.sha256 = sha256_of(*text);
    DET_TRY_ASSIGN(auto const recorded, recorded_sums(uuid, manifest.run));
    if (recorded.empty() || std::ranges::find(recorded, manifest.sha256) != recorded.end()) return manifest;
    return replaced_error(uuid, "its manifest has another SHA-256 than the journal of the run has recorded");
}

Result<std::vector<std::string>> Store::recorded_sums(std::string const& uuid, std::string const& run) const {
    if (auto const found = expected_.find(uuid); found != expected_.end()) return std::vector{found->second};
    if (!recorded_) return std::vector<std::string>();
    return recorded_(uuid, run);
}

Result<bool> Store::is_own(CheckpointManifest const& manifest) const {
    if (checks_owners()) return true;
    DET_TRY_ASSIGN(auto const recorded, recorded_sums(manifest.uuid, manifest.run));
    return std::ranges::find(recorded, manifest.sha256) != recorded.end();
}

std::optional<uid_t> Store::trusted_owner(std::string const& uuid) const {
    auto const found = trusted_owners_.find(uuid);
    return found == trusted_owners_.end() ? std::nullopt : std::optional(found->second);
}

Result<CheckpointManifest> Store::commit(Description const& description, MayCommit const& may_commit) {
    SystemClock clock;
    auto const begin = [&]() -> Result<fs::path> {
        DET_TRY_ASSIGN(auto made, create_directory(description.uuid));
        DET_TRY(write_metadata(made, *description.metadata));
        return made;
    };
    DET_TRY_ASSIGN(auto const directory, repeat_write(clock, write_retry_, begin));
    CheckpointManifest manifest{description.uuid,
                                description.run,
                                description.steps_completed,
                                description.time,
                                description.world_size,
                                {},
                                {},
                                description.metadata};
    DET_TRY(collect(directory, "", write_retry_, manifest));
    DET_TRY(put_files(description.uuid, manifest.files));
    DET_TRY(repeat_write(clock, write_retry_, [&] { return publish(manifest, may_commit); }));
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

Status Store::change_manifest(CheckpointManifest const& changed, OnChange const& on_change) {
    auto const text = render_manifest(changed);
    DET_TRY(on_change(sha256_of(text)));
    return replace_manifest(changed.uuid, text);
}

Status Store::remove_files(std::string const& uuid, std::vector<std::string> const& paths,
                           OnChange const& on_change) {
    DET_TRY_ASSIGN(auto manifest, load_manifest(uuid));
    auto const is_removed = [&](std::string const& path) {
        return std::ranges::find(paths, path) != paths.end();
    };
    std::erase_if(manifest.files, [&](auto const& file) { return is_removed(file.path); });
    std::erase_if(manifest.tensors, [&](auto const& tensor) {
        return std::ranges::any_of(tensor.slices, is_removed, &StoredSlice::file);
    });
    DET_TRY(change_manifest(manifest, on_change));
    for (auto const& path : paths) DET_TRY(remove_file(uuid, path));
    return Ok{};
}

Status Store::set_metadata(std::string const& uuid, JsonValue metadata, OnChange const& on_change) {
    DET_TRY(check_metadata(*metadata));
    DET_TRY_ASSIGN(auto manifest, load_manifest(uuid));
    manifest.metadata = std::move(metadata);
    return change_manifest(manifest, on_change);
}

}  // namespace det::checkpoint
