#include "stage_cache.hpp"

#include <det/foundation/text.hpp>
#include <det/foundation/uuid.hpp>
#include <det/launch/supervisor/unpack_archive.hpp>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <thread>
#include <unistd.h>

namespace det::launch::supervisor {
namespace {

namespace fs = std::filesystem;
using StageClock = StageCache::Clock;

constexpr std::chrono::milliseconds lock_poll_interval{50};
// Compressed environments grow by a factor of two to four. Only as much is removed for them in advance;
// whether the disk is full shows when it is written.
constexpr std::uint64_t unpacked_factor = 3;
constexpr std::time_t unused_limit_s = std::time_t{30} * 24 * 3600;
constexpr char content_name[] = "content";
constexpr char facts_name[] = "facts";
constexpr char archive_name[] = "archive";

/// Changes with each start of the node.
std::string find_boot_id() {
    UniqueFd const file(::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
    char text[64] = "";
    auto const count = file ? ::read(file.get(), text, sizeof text - 1) : -1;
    return count > 0 ? std::string(trim({text, static_cast<std::size_t>(count)})) : std::string("unknown");
}

struct EntryFacts {
    std::uint64_t size_bytes = 0;
    std::string boot_id;
};

std::optional<EntryFacts> read_facts(fs::path const& entry) {
    auto const text = read_file(entry / facts_name, 1024);
    if (!text) return std::nullopt;
    auto const words = split(trim(*text), ' ');
    auto const size = parse_integer<std::uint64_t>(words.front());
    if (!size || words.size() != 2) return std::nullopt;
    return EntryFacts{*size, std::string(words[1])};
}

/// Locks the file; empty if another process holds the lock at `until`.
Result<UniqueFd> lock_until(fs::path const& path, StageClock::time_point until) {
    UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file) return os_error(fmt::format("open '{}'", path.string()), errno);
    while (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return os_error(fmt::format("lock '{}'", path.string()), errno);
        if (StageClock::now() >= until) return UniqueFd();
        std::this_thread::sleep_for(lock_poll_interval);
    }
    return file;
}

/// Removes a tree, also one with directories that its owner may not write, as archives can have.
void remove_whole_tree(fs::path const& path) {
    if (remove_tree(path)) return;
    std::error_code ignored;
    auto const options = fs::directory_options::skip_permission_denied;
    fs::permissions(path, fs::perms::owner_all, fs::perm_options::add | fs::perm_options::nofollow, ignored);
    // The permissions of a directory are changed before the iterator enters it.
    for (fs::recursive_directory_iterator each(path, options, ignored), end; !ignored && each != end;
         each.increment(ignored)) {
        std::error_code failure;
        if (each->is_directory(failure) && !each->is_symlink(failure))
            fs::permissions(each->path(), fs::perms::owner_all,
                            fs::perm_options::add | fs::perm_options::nofollow, failure);
    }
    (void)remove_tree(path);
}

/// What the file needs on the disk while its entry is made, as far as that is known.
std::uint64_t find_need(StageItem const& item) {
    return item.is_archive ? item.size_bytes * (1 + unpacked_factor) : item.size_bytes;
}

bool is_full_disk(int error_number) { return error_number == ENOSPC || error_number == EDQUOT; }

}  // namespace

StageItem item_of(StagedFile const& file) {
    bool const is_archive = is_staged_archive(file.path);
    return {staged_name(file.path),
            file.path,
            file.size_bytes,
            file.sha256,
            file.sha256 + (is_archive ? "-unpacked" : ""),
            is_archive};
}

StageItem item_of_code(std::string const& sha256, std::string const& path, std::uint64_t size_bytes) {
    return {"." + sha256 + ".tar.zst", path, size_bytes, "", sha256 + "-code", false};
}

bool is_of_this_start(fs::path const& entry) {
    auto const facts = read_facts(entry);
    return facts && facts->boot_id == find_boot_id();
}

Result<DiskSpace> find_disk_space(fs::path const& directory) {
    struct statvfs facts {};
    if (::statvfs(directory.c_str(), &facts) != 0)
        return os_error(fmt::format("look at the disk of '{}'", directory.string()), errno);
    return DiskSpace{std::uint64_t{facts.f_bavail} * facts.f_frsize,
                     std::uint64_t{facts.f_blocks} * facts.f_frsize};
}

struct StageCache::Entry {
    std::string key;
    fs::path path;
    std::uint64_t size_bytes = 0;
    timespec used{};
    bool is_in_use = false;
};

StageCache::StageCache(fs::path directory, Options options, std::uint64_t limit_bytes)
    : directory_(std::move(directory)), options_(std::move(options)), limit_bytes_(limit_bytes) {}

Result<StageCache> StageCache::open(fs::path directory, Options options) {
    for (auto const* name : {"entries", "jobs", "locks", "incoming", "removed"})
        DET_TRY(make_directories(directory / name));
    auto limit = options.limit_bytes;
    if (!limit) {
        DET_TRY_ASSIGN(auto const space, options.find_space(directory));
        limit = space.total_bytes / 2;
    }
    return StageCache(std::move(directory), std::move(options), *limit);
}

fs::path StageCache::job_directory() const { return directory_ / "jobs" / options_.job; }

Result<UniqueFd> StageCache::lock() const {
    DET_TRY_ASSIGN(auto held, lock_until(directory_ / "lock", StageClock::now() + options_.lock_limit));
    if (held) return held;
    return Error{codes::timed_out,
                 fmt::format("'{}' on node {} was locked for {} s", (directory_ / "lock").string(),
                             options_.node, options_.lock_limit.count() / 1000)};
}

Status StageCache::link(StageItem const& item) const {
    DET_TRY(make_directories(job_directory()));
    auto const target = directory_ / "entries" / item.key / content_name;
    auto const aside = job_directory() / fmt::format(".{}", make_uuid());
    if (::symlink(target.c_str(), aside.c_str()) != 0 ||
        ::rename(aside.c_str(), (job_directory() / item.name).c_str()) != 0) {
        int const number = errno;
        ::unlink(aside.c_str());
        return os_error(fmt::format("link '{}'", (job_directory() / item.name).string()), number);
    }
    return Ok{};
}

Result<bool> StageCache::use(StageItem const& item) {
    {
        DET_TRY_ASSIGN(auto const held, lock());
        auto const entry = directory_ / "entries" / item.key;
        if (!path_exists(entry)) return false;
        struct stat content {};
        bool const is_there = ::lstat((entry / content_name).c_str(), &content) == 0;
        bool const is_whole =
            is_there && is_of_this_start(entry) &&
            (item.is_archive ? S_ISDIR(content.st_mode)
                             : S_ISREG(content.st_mode) && std::cmp_equal(content.st_size, item.size_bytes));
        if (is_whole) {
            ::utimensat(AT_FDCWD, entry.c_str(), nullptr, 0);
            DET_TRY(link(item));
            return true;
        }
        move_away(entry);
    }
    // Without the lock: a large tree takes longer than other processes wait for it.
    remove_moved();
    return false;
}

Result<std::unique_ptr<StageCopy>> StageCache::begin(StageItem const& item, StageClock::time_point until) {
    DET_TRY_ASSIGN(auto making, lock_until(directory_ / "locks" / item.key, until));
    if (!making) return std::unique_ptr<StageCopy>();
    {
        DET_TRY_ASSIGN(auto const held, lock());
        remove_abandoned(item.key);
        // Nothing of the other copies that were begun may be written yet.
        DET_TRY(make_room(item, {item.size_bytes, item.size_bytes, begun_bytes_ + find_need(item)}));
    }
    remove_moved();
    auto const made = directory_ / "incoming" / fmt::format("{}.{}", item.key, make_uuid());
    DET_TRY(make_directory(made));
    std::unique_ptr<StageCopy> copy(new StageCopy(*this, item, std::move(making), made));
    DET_TRY(copy->restart());
    return copy;
}

std::vector<StageCache::Entry> StageCache::list_entries() const {
    std::vector<Entry> entries;
    auto const names = list_directory(directory_ / "entries");
    if (!names) return entries;
    for (auto const& name : *names) {
        Entry entry{name, directory_ / "entries" / name};
        struct stat facts {};
        if (::lstat(entry.path.c_str(), &facts) != 0) continue;
        entry.used = facts.st_mtim;
        if (auto const recorded = read_facts(entry.path)) entry.size_bytes = recorded->size_bytes;
        entries.push_back(std::move(entry));
    }
    std::ranges::sort(entries, [](Entry const& a, Entry const& b) {
        return std::pair(a.used.tv_sec, a.used.tv_nsec) < std::pair(b.used.tv_sec, b.used.tv_nsec);
    });
    return entries;
}

/// Marks what jobs use, and forgets the jobs that have ended.
void StageCache::mark_used(std::vector<Entry>& entries) const {
    std::set<std::string> used;
    auto const jobs = list_directory(directory_ / "jobs").value_or(std::vector<std::string>());
    bool const has_others = std::ranges::any_of(jobs, [&](auto const& job) { return job != options_.job; });
    auto const current = has_others ? options_.find_jobs() : std::nullopt;
    for (auto const& job : jobs) {
        auto const path = directory_ / "jobs" / job;
        if (job != options_.job && current && !current->contains(job)) {
            (void)remove_tree(path);
            continue;
        }
        for (auto const& name : list_directory(path).value_or(std::vector<std::string>())) {
            std::error_code failure;
            auto const target = fs::read_symlink(path / name, failure);
            if (!failure) used.insert(target.parent_path().filename());
        }
    }
    for (auto& entry : entries) entry.is_in_use = used.contains(entry.key);
}

Status StageCache::make_room(StageItem const& item, Need const& need) {
    DET_TRY_ASSIGN(auto const space, options_.find_space(directory_));
    auto entries = list_entries();
    std::erase_if(entries, [&](Entry const& entry) { return entry.key == item.key; });  // it is replaced
    std::uint64_t total = 0;
    for (auto const& entry : entries) total += entry.size_bytes;
    auto free_bytes = space.free_bytes;
    auto const fits = [&] {
        return total + need.entry_bytes <= limit_bytes_ && free_bytes >= need.free_bytes_wanted;
    };
    auto const oldest = std::time(nullptr) - unused_limit_s;
    bool const has_old = !entries.empty() && entries.front().used.tv_sec < oldest;
    if (has_old || !fits()) mark_used(entries);
    for (auto const& entry : entries) {
        if (fits() && entry.used.tv_sec >= oldest) break;
        if (entry.is_in_use) continue;
        move_away(entry.path);
        total -= entry.size_bytes;
        free_bytes += entry.size_bytes;
    }
    if (total + need.entry_bytes > limit_bytes_) return over_limit(item, need.entry_bytes, total);
    if (free_bytes < need.free_bytes) return no_space(item, free_bytes);
    return Ok{};
}

/// Takes a tree out of the way at once. remove_moved() removes it, which may take long.
void StageCache::move_away(fs::path const& path) const {
    ::rename(path.c_str(), (directory_ / "removed" / make_uuid()).c_str());
}

void StageCache::remove_moved() const {
    auto const names = list_directory(directory_ / "removed").value_or(std::vector<std::string>());
    for (auto const& name : names) remove_whole_tree(directory_ / "removed" / name);
}

/// Takes away what killed processes have begun: no other process holds the locks of these entries. This
/// process holds that of `own_key`, of which it has made nothing yet.
void StageCache::remove_abandoned(std::string const& own_key) const {
    auto const names = list_directory(directory_ / "incoming").value_or(std::vector<std::string>());
    for (auto const& name : names) {
        auto const key = name.substr(0, name.rfind('.'));
        auto const lock = directory_ / "locks" / key;
        UniqueFd const file(::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
        bool const is_free = file && ::flock(file.get(), LOCK_EX | LOCK_NB) == 0;
        if (is_free || key == own_key) move_away(directory_ / "incoming" / name);
    }
}

Status StageCache::publish(StageItem const& item, fs::path const& made, std::uint64_t size_bytes) {
    DET_TRY(write_file(made / facts_name, fmt::format("{} {}\n", size_bytes, find_boot_id())));
    {
        DET_TRY_ASSIGN(auto const held, lock());
        DET_TRY(make_room(item, {size_bytes}));
        auto const entry = directory_ / "entries" / item.key;
        if (path_exists(entry)) move_away(entry);
        if (::rename(made.c_str(), entry.c_str()) != 0)
            return os_error(fmt::format("rename '{}' to '{}'", made.string(), entry.string()), errno);
        DET_TRY(link(item));
    }
    remove_moved();
    return Ok{};
}

Error StageCache::no_space(StageItem const& item, std::uint64_t free_bytes) const {
    return {codes::file_system,
            fmt::format("'{}' on node {} has no space for '{}': it needs {}{}, and {} are free",
                        directory_.string(), options_.node, item.path, format_size(item.size_bytes),
                        item.is_archive ? " and what it unpacks to" : "", format_size(free_bytes)),
            "free space there, or name a directory on a larger local disk in DET_LOCAL_DIR "
            "(environment.environment_variables)"};
}

Error StageCache::over_limit(StageItem const& item, std::uint64_t needed_bytes,
                             std::uint64_t used_bytes) const {
    return {
        codes::file_system,
        fmt::format(
            "'{}' needs {} in '{}' on node {}: slurm.stage_limit allows {}{}, of which jobs that run use {}",
            item.path, format_size(needed_bytes), directory_.string(), options_.node,
            format_size(limit_bytes_), options_.limit_bytes ? "" : " (by default half of the disk)",
            format_size(used_bytes)),
        "stage less, raise slurm.stage_limit, or name a directory on a larger local disk in DET_LOCAL_DIR"};
}

StageCopy::StageCopy(StageCache& cache, StageItem item, UniqueFd lock, fs::path directory)
    : cache_(&cache), item_(std::move(item)), lock_(std::move(lock)), directory_(std::move(directory)) {
    cache_->begun_bytes_ += find_need(item_);
}

StageCopy::~StageCopy() {
    cache_->begun_bytes_ -= find_need(item_);
    if (path_exists(directory_)) remove_whole_tree(directory_);
}

fs::path StageCopy::file() const { return directory_ / (item_.is_archive ? archive_name : content_name); }

Status StageCopy::restart() {
    file_ = UniqueFd(::open(file().c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file_) return os_error(fmt::format("create '{}'", file().string()), errno);
    hash_ = std::make_unique<Sha256>();
    size_bytes_ = 0;
    return Ok{};
}

/// Says what a full disk lacks.
Error StageCopy::explain_full_disk(Error error) const {
    auto const space = cache_->options_.find_space(directory_);
    return space ? cache_->no_space(item_, space->free_bytes).noting(error.message) : error;
}

Status StageCopy::append(std::string_view bytes) {
    while (!bytes.empty()) {
        auto const written = ::write(file_.get(), bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) {
            int const number = errno;
            auto error = os_error(fmt::format("write '{}'", file().string()), number);
            return is_full_disk(number) ? explain_full_disk(std::move(error)) : error;
        }
        auto const part = bytes.substr(0, static_cast<std::size_t>(written));
        hash_->update(part);
        size_bytes_ += part.size();
        bytes.remove_prefix(part.size());
    }
    return Ok{};
}

Status StageCopy::finish() {
    auto const sha256 = hash_->finish();
    if (size_bytes_ != item_.size_bytes || (!item_.sha256.empty() && sha256 != item_.sha256)) {
        return Error{
            codes::damaged,
            fmt::format("'{}' has changed since the experiment was submitted: it has {} bytes and SHA-256 "
                        "{}, not {} and {}",
                        item_.path, size_bytes_, sha256, item_.size_bytes, item_.sha256),
            "submit the experiment again ('det-submit experiment fork'): that takes the file as it is now"};
    }
    file_ = UniqueFd();
    auto size_bytes = size_bytes_;
    if (item_.is_archive) {
        auto const content = directory_ / content_name;
        DET_TRY(make_directory(content));
        auto const unpacked = unpack_tar(file(), content, cache_->limit_bytes_);
        if (unpacked.error_number != 0 && is_full_disk(unpacked.error_number))
            return explain_full_disk(unpacked.status.error());
        if (!unpacked.status)
            return Error(unpacked.status.error()).while_doing(fmt::format("unpacking '{}'", item_.path));
        size_bytes = unpacked.size_bytes;
        ::unlink(file().c_str());
    } else {
        ::chmod(file().c_str(), 0500);
    }
    return cache_->publish(item_, directory_, size_bytes);
}

}  // namespace det::launch::supervisor
