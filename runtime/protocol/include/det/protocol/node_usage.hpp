#pragma once
#include <det/foundation/result.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace det {

/// A node whose GPUs, or whose processor time, a run uses less than this is idle. Of a GPU its utilisation
/// counts; of the processes of a run together the time of processors, where 100 is one processor.
inline constexpr double idle_percent = 5;

/// How much a run uses the GPUs of a node, or its processors if the trial has no GPUs. The first task of a
/// node writes it to the run's node-<k>.usage after each window of measurement (FORMATS.md).
struct NodeUsage {
    std::uint64_t windows = 0;  // measured so far: the number shows that the node still measures
    std::uint64_t idle_ms = 0;  // for how long the use has been below idle_percent, until the last window
    std::optional<double> percent = {};  // in the last window; of the GPU that was used most. Empty: unknown

    friend bool operator==(NodeUsage const&, NodeUsage const&) = default;
};

/// Over how long a node averages the use: a tenth of slurm.idle_timeout, at least 1 s and at most 60 s.
std::chrono::milliseconds usage_window(std::chrono::seconds idle_timeout);

std::string render_node_usage(NodeUsage const& usage);
/// codes::damaged if the text is torn, or of a newer version.
Result<NodeUsage> parse_node_usage(std::string_view text);

}  // namespace det
