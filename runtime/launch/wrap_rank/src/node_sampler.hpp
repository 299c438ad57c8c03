#pragma once
#include <det/foundation/environment.hpp>
#include <det/foundation/files.hpp>

#include <string>
#include <sys/types.h>
#include <vector>

namespace det::launch::wrap_rank {

/// A process of det-launch that measures something on this node: its system metrics (`sample-node`) or how
/// much the run uses it (`measure-usage`). It is a separate process, because det-wrap-rank, which may be
/// linked statically, can't open the library that reads GPUs. The process ends when this object is destroyed,
/// or when this program is killed. Errors are ignored.
class NodeSampler {
public:
    NodeSampler(std::vector<std::string> const& command, Environment const& environment);
    /// \param helper the path of det-launch
    /// \param journal of the system metrics
    static std::vector<std::string> sample_node(std::string const& helper, std::string const& journal);
    /// \param file of the node's use; window_ms and run_key as in DET_USAGE_WINDOW_MS and DET_RUN_KEY
    static std::vector<std::string> measure_usage(std::string const& helper, std::string const& file,
                                                  std::string const& window_ms, std::string const& run_key,
                                                  bool has_gpus);
    ~NodeSampler();
    NodeSampler(NodeSampler const&) = delete;
    NodeSampler& operator=(NodeSampler const&) = delete;

private:
    UniqueFd input_;  // standard input of the process; the process ends when it is closed
    pid_t pid_ = -1;
};

}  // namespace det::launch::wrap_rank
