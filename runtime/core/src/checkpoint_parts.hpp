#pragma once
#include <det/checkpoint/memory_snapshots.hpp>
#include <det/checkpoint/saver.hpp>
#include <det/core/checkpoint.hpp>

#include <map>

#include "collective_peers.hpp"

namespace det::core {

/// The number of CPUs that this rank may use, if the ranks of the node share those that this process may use.
int cores_per_rank(ContextData const& data);

struct Checkpoint::Tensors {
    explicit Tensors(ContextData& data);

    CollectivePeers peers;
    checkpoint::Saver saver;
    struct SaveInFlight {
        std::chrono::steady_clock::time_point begun;
        Duration blocked;  // how long the training waited for the snapshot
    };
    std::map<std::string, SaveInFlight> in_flight;  // by UUID
    std::string last;                               // the UUID of the last save
};

struct Checkpoint::Memory {
    Memory(ContextData& data, std::uint64_t interval_steps);

    std::uint64_t every = 0;        // steps
    std::uint64_t first_steps = 0;  // of the checkpoint from which this run continues
    std::uint64_t last_steps = 0;   // of the last snapshot, or of the state from which this run has started
    std::uint64_t retry_at = 0;     // after a snapshot that was left out, because the last was being copied
    bool has_kept = false;          // in this run
    CollectivePeers peers;
    checkpoint::MemorySnapshots snapshots;
};

}  // namespace det::core
