#pragma once
#include <det/foundation/result.hpp>

#include <functional>
#include <span>

#include "logs/log_reader.hpp"

namespace det::cli {

/// The answer of a sink: `on` if it wants more lines.
enum class Go { on, stop };
using LogSink = std::function<Go(LogLine const& line)>;

/// A node's log and the offset up to which it has been read.
struct NodeLog {
    std::filesystem::path path;
    int node = 0;
    std::size_t offset = 0;
};

/// Passes the lines of a run's node logs that match `filter` to `sink`, ordered by time. Reads each log from
/// its offset to its present end and advances the offset. Holds one buffer per log in memory.
Result<Go> merge_node_logs(std::span<NodeLog> logs, std::uint32_t run, LogFilter const& filter, TornLine torn,
                           LogSink const& sink);

}  // namespace det::cli
