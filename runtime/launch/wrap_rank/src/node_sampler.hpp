#pragma once
#include <det/foundation/environment.hpp>
#include <det/foundation/files.hpp>

#include <filesystem>
#include <sys/types.h>

namespace det::launch::wrap_rank {

/// The process that samples the system metrics of this node (`det-launch sample-node`). It is a separate
/// process, because det-wrap-rank, which may be linked statically, can't open the library that reads GPUs.
/// The process ends when this object is destroyed, or when this program is killed. Errors are ignored.
class NodeSampler {
public:
    /// \param helper the path of det-launch
    /// \param journal the journal that the process writes
    NodeSampler(std::filesystem::path const& helper, std::filesystem::path const& journal,
                Environment const& environment);
    ~NodeSampler();
    NodeSampler(NodeSampler const&) = delete;
    NodeSampler& operator=(NodeSampler const&) = delete;

private:
    UniqueFd input_;  // standard input of the process; the process ends when it is closed
    pid_t pid_ = -1;
};

}  // namespace det::launch::wrap_rank
