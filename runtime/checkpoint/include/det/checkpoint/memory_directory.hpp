#pragma once
#include <det/foundation/result.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

// The directories in /dev/shm in which the ranks of a job keep the state of a trial
// (slurm.memory_checkpoints). They survive the steps of the job, and take memory of the node until the
// supervisor of the trial, or the next job of the same user on the node, removes them.
namespace det::checkpoint {

inline constexpr char shared_memory[] = "/dev/shm";

/// Whose snapshots a directory has. All ranks of a run have the same.
struct MemoryPlace {
    std::filesystem::path base = shared_memory;
    std::string job;           // the number of the job: digits
    std::string trial;         // "7.3"
    std::string local_suffix;  // random; used where another user has taken the name; may be empty
    /// How often Slurm had queued the job again (restart_count_of): the run after a requeue loads no
    /// snapshot. Empty: finds the directories of all restarts.
    std::string restart_count = {};
};

/// Makes the directory, which only this user can enter, or finds the one that an earlier run has made. If the
/// name is not that of such a directory, another user has taken it: then makes one with the suffix.
/// \return codes::unsafe_owner if there is no suffix
Result<std::filesystem::path> make_memory_directory(MemoryPlace const& place);

/// The directories of the trial in the job that belong to this user and that only he can enter, sorted. One,
/// unless another user has taken the name meanwhile.
std::vector<std::filesystem::path> find_memory_directories(MemoryPlace const& place);

/// Of how many ranks this node has a file of the same snapshot of a run, at most: of more than it has ranks,
/// if the nodes keep copies of each other's.
int count_kept_ranks(MemoryPlace const& place, std::uint32_t run);

/// Removes the snapshots of the trial in the job that its run `run` must not load: all but those of the run
/// before, in the same restart of the job. Call it before a rank of the run starts.
void remove_older_snapshots(MemoryPlace const& place, std::uint32_t run);

/// The last part of a run's key (DET_RUN_KEY): SLURM_RESTART_COUNT of its job. "0" if the key has none.
std::string restart_count_of(std::string_view run_key);

/// A directory with snapshots, of any job of this user.
struct MemoryDirectory {
    std::filesystem::path path;
    std::string job;
};
std::vector<MemoryDirectory> list_memory_directories(std::filesystem::path const& base = shared_memory);

/// How many bytes this process can still take in a file below `base`: the least of the free space of the file
/// system, of the node's available memory, and of what is left in each memory cgroup of the process. Memory
/// of a cgroup that the kernel can take back (inactive pages of files) counts as left.
/// \param root below which /proc and /sys are; tests have files of their own there
std::uint64_t available_memory_bytes(std::filesystem::path const& base = shared_memory,
                                     std::filesystem::path const& root = "/");

}  // namespace det::checkpoint
