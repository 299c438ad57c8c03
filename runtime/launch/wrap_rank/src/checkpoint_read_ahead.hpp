#pragma once
#include <det/protocol/task_identity.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

namespace det::launch::wrap_rank {

struct FileSize {
    std::string name;
    std::uint64_t size_bytes = 0;
};

/// The files of a checkpoint that a task reads into its node's page cache: the shards that its ranks will
/// probably load, judged by the number of tasks, and its share of the other files. In reading order; files
/// beyond the limit are left out. Pure.
std::vector<std::string> choose_to_read_ahead(std::vector<FileSize> files, TaskIdentity const& task,
                                              std::uint64_t limit_bytes);

/// Reads a checkpoint on a thread while the program starts, so that its files are in the page cache when the
/// program loads them. Errors are ignored. All tasks of the run on a node together fill at most a quarter of
/// the node's free memory. The destructor stops the thread.
class ReadAhead {
public:
    ReadAhead(std::filesystem::path checkpoint, TaskIdentity task);

private:
    std::jthread thread_;
};

}  // namespace det::launch::wrap_rank
