#pragma once
#include <det/foundation/clock.hpp>
#include <det/foundation/result.hpp>

#include <chrono>
#include <filesystem>

namespace det::launch {

struct NodeSampling {
    std::filesystem::path journal;  // of the node: runs/N/node-<k>.metrics
    std::chrono::milliseconds interval{1000};
    unsigned samples_per_report = 10;
};

/// Samples the system metrics of this node and writes their averages to the journal, until `input` ends.
/// Samples nothing if another process writes the journal already.
/// \param input a pipe. The process that wants the metrics holds the other end
Status sample_node(NodeSampling const& request, int input, Clock const& clock);

}  // namespace det::launch
