#pragma once
#include <det/collectives/device/device_backend.hpp>
#include <det/collectives/rank_group.hpp>

#include <vector>

namespace det::collectives::device {

/// The scratch memory in bytes for a call that sends from the memory into which it receives.
std::size_t scratch_bytes(collectives::TensorCall const& call);

/// The steps of the device of rank `self` for a checked call. `scratch` must have scratch_bytes() bytes.
/// Pure.
std::vector<DeviceStep> device_steps_of(collectives::TensorCall const& call, Rank self, int ranks,
                                        void* scratch = nullptr);

/// The call record that ranks compare. An operation on devices differs from the same operation in host
/// memory.
collectives::Call device_call_of(collectives::TensorCall const& call);

}  // namespace det::collectives::device
