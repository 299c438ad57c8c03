#pragma once
#include <det/checkpoint/state.hpp>
#include <det/tensor/device_copies.hpp>

#include <functional>

#include "host_memory.hpp"
#include "write_plan.hpp"

namespace det::checkpoint {

/// Whether the shard has tensors that lie in memory of a device; `devices` is null where there is none.
bool is_on_devices(ShardPlan const& shard, State const& state, tensor::DeviceCopies const* devices);

struct SnapshotOptions {
    int threads = 1;                          // of this process, which copy what lies in its memory
    tensor::DeviceCopies* devices = nullptr;  // copy what lies in theirs meanwhile
    /// So many bytes of the image are there, from the first on. Called by all threads, one at a time.
    std::function<void(std::uint64_t size_bytes)> on_there;
};

/// Makes the image of a shard in `memory`, which is large enough: header and data as the file will have them.
/// An Error where a device failed.
Status take_snapshot(ShardPlan const& shard, State const& state, HostMemory const& memory,
                     SnapshotOptions const& options);

}  // namespace det::checkpoint
