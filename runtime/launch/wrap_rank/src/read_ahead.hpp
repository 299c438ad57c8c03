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

/// Of a checkpoint's files those that a task brings into the memory of its node: the shards that its ranks
/// will want, as far as their number tells, and its share of what all ranks may want. In the order in which
/// to read them; what goes beyond the limit is left out. Pure.
std::vector<std::string> choose_to_read_ahead(std::vector<FileSize> files, TaskIdentity const& task,
                                              std::uint64_t limit_bytes);

/// Reads a checkpoint on a thread while the program starts, which may take longer than the disk: who loads it
/// then finds it in the page cache. A help: where it can't be read nothing else fails. At most a quarter of
/// the memory that the node has left is filled. Destroying it ends it.
class ReadAhead {
public:
    ReadAhead(std::filesystem::path checkpoint, TaskIdentity task);

private:
    std::jthread thread_;
};

}  // namespace det::launch::wrap_rank
