#pragma once
#include <det/checkpoint/device_memory.hpp>
#include <det/checkpoint/tensor.hpp>

#include "host_memory.hpp"
#include "write_plan.hpp"

namespace det::checkpoint {

/// Whether the shard has tensors that lie in memory of a device; `devices` is null where there is none.
bool is_on_devices(ShardPlan const& shard, State const& state, DeviceMemory const* devices);

/// Makes the image of a shard in `memory`, which is large enough: header and data as the file will have them.
/// Devices copy their tensors while so many threads of this process copy the others. An Error where a device
/// failed.
Status take_snapshot(ShardPlan const& shard, State const& state, int threads, HostMemory const& memory,
                     DeviceMemory* devices);

}  // namespace det::checkpoint
