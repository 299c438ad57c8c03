#pragma once
#include <cstdint>
#include <filesystem>

namespace det::launch::wrap_rank {

/// How many processes of this process's cgroup, with cgroup v2 also of the groups below it, the kernel has
/// killed for lack of memory since the group was made: because the job, the step or the task reached its
/// limit, or because the node had no memory left.
/// \param root the directory that has proc/self/cgroup and sys/fs/cgroup; of a recorded copy in tests
/// \return 0 too if the kernel does not show it
std::uint64_t count_memory_kills(std::filesystem::path const& root = "/");

}  // namespace det::launch::wrap_rank
