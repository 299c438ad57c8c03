#include <det/experiment_pack/pack_file.hpp>
#include <det/experiment_pack/unpacked_cache.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/foreign_tree.hpp>
#include <det/foundation/temporary_names.hpp>
#include <det/foundation/text.hpp>
#include <det/foundation/trusted_path.hpp>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <fcntl.h>
#include <fmt/format.h>
#include <map>
#include <mutex>
#include <optional>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <vector>

#include "extract.hpp"

namespace det::experiment_pack {

/// Which file a name leads to, and its last change: a pack that was replaced is opened again.
struct PackIdentity {
    dev_t device = 0;
    ino_t number = 0;
    off_t size = 0;
    time_t changed_s = 0;
    long changed_ns = 0;
    friend bool operator==(PackIdentity const&, PackIdentity const&) = default;
};

namespace {

namespace fs = std::filesystem;

constexpr std::string_view staging_prefix = ".new-";
constexpr time_t in_use_s = 600;
constexpr std::uint64_t file_cost_bytes = 4096;  // of a file or directory, beside its contents

std::optional<PackIdentity> identity_of(fs::path const& pack) {
    struct stat info {};
    if (::stat(pack.c_str(), &info) != 0) return std::nullopt;
    return PackIdentity{info.st_dev, info.st_ino, info.st_size, info.st_ctim.tv_sec, info.st_ctim.tv_nsec};
}

/// Disk space that the extracted files take.
std::uint64_t extracted_bytes(Index const& index) {
    std::uint64_t sum = 0;
    for (auto const& entry : index.entries) {
        if (is_extracted(entry, ExtractFor::reading)) sum += entry.data_bytes() + file_cost_bytes;
    }
    return sum;
}

/// A file of another user may claim any size: a small pack can hold terabytes of zeros, and a root can have
/// many of them. `kept_bytes`: of the trees in the cache, which are in use.
Status check_size(PackFile const& pack, std::uint64_t bytes, fs::path const& cache, bool is_foreign,
                  std::uint64_t kept_bytes, std::uint64_t limit_bytes) {
    auto const name = pack.head.path.string();
    if (is_foreign && (bytes > limit_bytes || pack.index.entries.size() > foreign_names_max)) {
        return Error{
            codes::document_too_large,
            fmt::format("the pack '{}' of another user has {} files with {} bytes: it is not unpacked", name,
                        pack.index.entries.size(), bytes)};
    }
    if (is_foreign && bytes + kept_bytes > limit_bytes) {
        return Error{codes::document_too_large,
                     fmt::format("the cache '{}' has {} bytes in use: the {} bytes of the pack '{}' of "
                                 "another user are not unpacked",
                                 cache.string(), kept_bytes, bytes, name),
                     "repeat the command after ten minutes"};
    }
    struct statvfs space {};
    if (::statvfs(cache.c_str(), &space) != 0)
        return os_error(fmt::format("find the free space of '{}'", cache.string()), errno);
    if (bytes / space.f_frsize < space.f_bavail) return Ok{};
    return Error{
        codes::file_system,
        fmt::format("'{}' has no space for the {} bytes of the pack '{}'", cache.string(), bytes, name),
        "set DET_CACHE to a directory of yours on another disk"};
}

/// A directory of the cache: its name has its size.
struct CachedTree {
    fs::path path;
    std::uint64_t bytes;
    time_t used_s;
};

std::vector<CachedTree> list_trees(fs::path const& cache) {
    std::vector<CachedTree> trees;
    auto const names = list_directory(cache);
    if (!names) return trees;
    for (auto const& name : *names) {
        auto const dash = name.rfind('-');
        if (name.starts_with('.') || dash == std::string::npos) continue;
        auto const bytes = parse_integer<std::uint64_t>(std::string_view(name).substr(dash + 1));
        struct stat info {};
        if (!bytes || ::lstat((cache / name).c_str(), &info) != 0) continue;
        trees.push_back({cache / name, *bytes, info.st_mtim.tv_sec});
    }
    return trees;
}

/// Removes the directories that were used the longest time ago, until the rest is within the limit or was
/// used in the last minutes. Returns the bytes of the rest.
std::uint64_t remove_unused(fs::path const& cache, std::uint64_t limit_bytes) {
    auto trees = list_trees(cache);
    std::ranges::sort(trees, {}, &CachedTree::used_s);
    std::uint64_t sum = 0;
    for (auto const& tree : trees) sum += tree.bytes;
    auto const now_s = std::time(nullptr);
    for (auto const& tree : trees) {
        if (sum <= limit_bytes || tree.used_s + in_use_s > now_s) break;
        // Another program may read it now, or find it again: it disappears at once.
        auto const removed = temporary_name(cache, staging_prefix);
        if (::rename(tree.path.c_str(), removed.c_str()) != 0) continue;
        (void)remove_tree(removed);
        sum -= tree.bytes;
    }
    return sum;
}

/// Checks that no other user can replace the cache. The usual cache is a directory in /var/tmp, and another
/// user could create a directory of that name first.
Status require_own_directory(fs::path const& path) {
    DET_TRY_ASSIGN(auto const access, load_access(path));
    if (access.info.st_uid == ::geteuid() && !access.can_others_write) {
        auto checked = check_trusted_ancestors(path);
        if (!checked) checked.error().hint = "set DET_CACHE to a directory of yours";
        return checked;
    }
    return Error{
        codes::unsafe_owner,
        fmt::format("others can write the cache '{}' ({})", path.string(), describe_access(access.info)),
        "set DET_CACHE to a directory of yours"};
}

/// Extracts into a temporary directory, which then gets its name: other programs find all files or none.
Status extract_tree(PackFile const& pack, fs::path const& cache, fs::path const& tree,
                    std::string const& experiment) {
    auto const staging = temporary_name(cache, staging_prefix);
    auto const directory = staging / "experiments" / experiment;
    auto extracted = make_directories(directory);
    remove_old_temporaries(cache, staging_prefix, staging);
    if (extracted) extracted = extract(pack, directory, ExtractFor::reading);
    // The name is taken if another program has extracted the same pack meanwhile.
    if (extracted && ::rename(staging.c_str(), tree.c_str()) != 0 && errno != ENOTEMPTY && errno != EEXIST)
        extracted = os_error(fmt::format("create '{}'", tree.string()), errno);
    (void)remove_tree(staging);
    return extracted;
}

}  // namespace

struct UnpackedCache::State {
    struct Known {
        PackIdentity identity;
        fs::path tree, directory;
        std::unique_ptr<ForeignTree> foreign;  // readers limit what they take from it
        time_t marked_s = 0;
    };

    fs::path cache;
    std::uint64_t limit_bytes;
    bool is_temporary;
    std::mutex mutex;
    std::map<fs::path, Known> known;  // by the experiment's directory

    /// Keeps the tree from other programs that remove what was not used.
    static void mark_used(Known& tree) {
        constexpr time_t interval_s = 60;
        auto const now_s = std::time(nullptr);
        if (tree.marked_s + interval_s > now_s && now_s >= tree.marked_s) return;
        (void)::utimensat(AT_FDCWD, tree.tree.c_str(), nullptr, 0);
        tree.marked_s = now_s;
    }

    Status make_cache() {
        if (is_temporary && cache.empty()) {
            std::string name = (fs::temp_directory_path() / "det-unpacked-XXXXXX").string();
            if (::mkdtemp(name.data()) == nullptr) return os_error(fmt::format("create '{}'", name), errno);
            cache = name;
        }
        DET_TRY(make_directories(cache));
        return require_own_directory(cache);
    }

    Result<Known> unpack(fs::path const& directory, PackIdentity const& identity) {
        DET_TRY(make_cache());
        DET_TRY_ASSIGN(auto const pack, PackFile::open(directory));
        auto const experiment = directory.filename().string();
        if (std::to_string(pack.head.summary.experiment.value) != experiment) {
            return Error{codes::damaged,
                         fmt::format("the pack '{}' is that of experiment {}", pack.head.path.string(),
                                     pack.head.summary.experiment.value)};
        }
        bool const is_foreign = foreign_owner_of(directory).has_value();
        auto const bytes = extracted_bytes(pack.index);
        // With the number of the experiment: two experiments may have the same files.
        Known found{identity, cache / fmt::format("{}-{}-{}", pack.sha256, experiment, bytes), {}, {}};
        found.directory = found.tree / "experiments" / experiment;
        if (!path_exists(found.directory)) {
            auto const kept_bytes = remove_unused(cache, limit_bytes - std::min(limit_bytes, bytes));
            DET_TRY(check_size(pack, bytes, cache, is_foreign, kept_bytes, limit_bytes));
            DET_TRY(extract_tree(pack, cache, found.tree, experiment));
        }
        if (is_foreign) found.foreign = std::make_unique<ForeignTree>(found.tree, ::geteuid());
        return found;
    }
};

UnpackedCache::UnpackedCache(fs::path cache, std::uint64_t limit_bytes) : state_(std::make_unique<State>()) {
    state_->is_temporary = cache.empty();
    if (!cache.empty()) state_->cache = cache / "unpacked";
    state_->limit_bytes = limit_bytes;
}

UnpackedCache::~UnpackedCache() {
    if (state_->is_temporary && !state_->cache.empty()) (void)remove_tree(state_->cache);
}

Result<fs::path> UnpackedCache::find(fs::path const& directory) const {
    auto const pack = directory / ExperimentLayout::pack_name;
    if (!path_exists(pack)) return directory;
    auto const identity = identity_of(pack);
    if (!identity) return os_error(fmt::format("open '{}'", pack.string()), errno);
    std::lock_guard const lock(state_->mutex);
    auto& known = state_->known;
    auto found = known.find(directory);
    if (found == known.end() || found->second.identity != *identity ||
        !path_exists(found->second.directory)) {
        DET_TRY_ASSIGN(auto fresh, state_->unpack(directory, *identity));
        found = known.insert_or_assign(directory, std::move(fresh)).first;
    }
    State::mark_used(found->second);
    return found->second.directory;
}

}  // namespace det::experiment_pack
