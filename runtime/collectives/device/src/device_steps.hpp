#pragma once
#include <det/collectives/device/device_backend.hpp>
#include <det/collectives/rank_group.hpp>

#include <vector>

namespace det::collectives::device {

/// The size of the scratch memory that a device needs for a call: an all_to_all in place sends from a copy.
std::size_t scratch_bytes(collectives::TensorCall const& call);

/// The steps of rank `self`'s device for a valid call. Pure. `scratch` has scratch_bytes(call) bytes.
std::vector<DeviceStep> device_steps_of(collectives::TensorCall const& call, Rank self, int ranks,
                                        void* scratch = nullptr);

/// The call as ranks compare it: a call on devices differs from the same call in host memory.
collectives::Call device_call_of(collectives::TensorCall const& call);

}  // namespace det::collectives::device
