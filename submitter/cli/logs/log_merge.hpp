#pragma once
#include <det/foundation/result.hpp>

#include <functional>
#include <span>

#include "logs/log_reader.hpp"

namespace det::cli {

/// Whether a taker of lines wants more.
enum class Go { on, stop };
using LogSink = std::function<Go(LogLine const& line)>;

/// A log of a node, and how far it is read.
struct NodeLog {
    std::filesystem::path path;
    int node = 0;
    std::size_t offset = 0;
};

/// Gives the lines of a run's node logs that pass to `sink`, in the order of their times, from their offsets
/// to where they end now, and moves the offsets. Reads on as it goes: memory is a buffer per node.
Result<Go> merge_node_logs(std::span<NodeLog> logs, std::uint32_t run, LogFilter const& filter, TornLine torn,
                           LogSink const& sink);

}  // namespace det::cli
