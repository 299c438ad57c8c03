#pragma once
#include <det/foundation/files.hpp>
#include <det/foundation/sha256.hpp>
#include <det/protocol/staged_file.hpp>

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

namespace det::launch::supervisor {

/// A file that a node gets.
struct StageItem {
    std::string name;  // below the directory of the job
    std::string path;  // where it is read
    std::uint64_t size_bytes = 0;
    std::string sha256;  // of the file; empty: the program that reads the file checks it
    std::string key;     // of the entry: the same content, unpacked or not, has the same key
    bool is_archive = false;
};

StageItem item_of(StagedFile const& file);
/// The archive with an experiment's code. Its hash is that of its unpacked content.
StageItem item_of_code(std::string const& sha256, std::string const& path, std::uint64_t size_bytes);

/// Whether an entry was made since the node was started.
bool is_of_this_start(std::filesystem::path const& entry);

struct DiskSpace {
    std::uint64_t free_bytes = 0;
    std::uint64_t total_bytes = 0;
};
Result<DiskSpace> find_disk_space(std::filesystem::path const& directory);

class StageCopy;

/// The files of slurm.stage on the disk of a node, kept by their hash for all jobs of this user:
///
///     lock                 held for a moment while one of the following is changed
///     entries/KEY/content  a file, or the tree of an archive
///     entries/KEY/facts    its size; the time of entries/KEY is that of the last use
///     jobs/JOB/NAME        links to what a job uses: DET_STAGE
///     locks/KEY            held while a process makes the entry
///     incoming/KEY.UUID    an entry that is being made
///     removed/UUID         what is being removed
///
/// An entry appears by rename(2), so a killed process leaves no half of one. Entries that were made before
/// the node was started are made anew: they are not synced, and their last bytes may be missing. When an
/// entry is made, those go that no job has used for 30 days, and, beyond the limit, those that were used
/// least recently; but none that a job uses which has not ended. Several processes may use the directory at
/// once. Not thread-safe.
class StageCache {
public:
    using Clock = std::chrono::steady_clock;
    struct Options {
        std::string job;                                // that uses the files: the value of DET_STAGE
        std::string node;                               // its name, for messages
        std::optional<std::uint64_t> limit_bytes = {};  // nullopt: half of the disk
        /// The jobs of this user that wait or run now; nullopt if Slurm does not answer. Called only if
        /// something has to go, with the lock: a job that has links by then is among them.
        std::function<std::optional<std::set<std::string>>()> find_jobs;
        std::function<Result<DiskSpace>(std::filesystem::path const&)> find_space = find_disk_space;
        std::chrono::milliseconds lock_limit = std::chrono::minutes(2);
    };
    static Result<StageCache> open(std::filesystem::path directory, Options options);

    /// Links the content into the directory of the job, if the node has it.
    Result<bool> use(StageItem const& item);
    /// Begins to make the entry. Null if another process still makes it at `until`; a time that has passed
    /// means that this call does not wait. Fails if the disk or the limit has no room for the file.
    Result<std::unique_ptr<StageCopy>> begin(StageItem const& item, Clock::time_point until);

    /// The directory with the links of the job.
    std::filesystem::path job_directory() const;

private:
    friend class StageCopy;
    StageCache(std::filesystem::path directory, Options options, std::uint64_t limit_bytes);

    struct Entry;
    Result<UniqueFd> lock() const;
    std::vector<Entry> list_entries() const;
    /// What an entry needs.
    struct Need {
        std::uint64_t entry_bytes = 0;        // of the limit
        std::uint64_t free_bytes = 0;         // of the disk, without which it fails
        std::uint64_t free_bytes_wanted = 0;  // for which unused entries are removed
    };
    /// Removes what is not used, until an entry fits. The caller holds the lock.
    Status make_room(StageItem const& item, Need const& need);
    void mark_used(std::vector<Entry>& entries) const;
    void move_away(std::filesystem::path const& path) const;
    void remove_moved() const;
    void remove_abandoned(std::string const& own_key) const;
    Status link(StageItem const& item) const;
    Status publish(StageItem const& item, std::filesystem::path const& made, std::uint64_t size_bytes);
    Error no_space(StageItem const& item, std::uint64_t free_bytes) const;
    Error over_limit(StageItem const& item, std::uint64_t needed_bytes, std::uint64_t used_bytes) const;

    std::filesystem::path directory_;
    Options options_;
    std::uint64_t limit_bytes_;
    std::uint64_t begun_bytes_ = 0;  // what the copies need that this object has begun
};

/// An entry that is being made. The destructor removes what was not finished. The cache must outlive it, and
/// stay where it is.
class StageCopy {
public:
    StageCopy(StageCopy const&) = delete;
    StageCopy& operator=(StageCopy const&) = delete;
    ~StageCopy();

    /// Adds bytes at the end of the file. The error names place, need and free space if the disk is full.
    Status append(std::string_view bytes);
    /// Begins the file again.
    Status restart();
    /// Compares size and hash, unpacks an archive, and gives the entry its name and its link.
    Status finish();

private:
    friend class StageCache;
    StageCopy(StageCache& cache, StageItem item, UniqueFd lock, std::filesystem::path directory);
    std::filesystem::path file() const;
    Error explain_full_disk(Error error) const;

    StageCache* cache_;
    StageItem item_;
    UniqueFd lock_;
    std::filesystem::path directory_;
    UniqueFd file_;
    std::unique_ptr<Sha256> hash_;
    std::uint64_t size_bytes_ = 0;
};

}  // namespace det::launch::supervisor
