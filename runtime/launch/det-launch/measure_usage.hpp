#pragma once
#include <det/foundation/clock.hpp>
#include <det/foundation/result.hpp>

#include <chrono>
#include <filesystem>
#include <string>

namespace det::launch {

struct UsageMeasurement {
    std::filesystem::path file;  // of the node: runs/N/node-<k>.usage
    std::chrono::milliseconds window{60'000};
    std::string run_key;    // DET_RUN_KEY of the run's tasks
    bool has_gpus = false;  // the trial has GPUs: their use counts, else that of processors
};

/// Measures how much a run uses this node, and writes it to the file after each window (node_usage.hpp),
/// until `input` ends. If a write fails, the next one may succeed.
/// \param input a pipe. The process that wants the figures holds the other end
void measure_usage(UsageMeasurement const& request, int input, Clock const& clock);

}  // namespace det::launch
