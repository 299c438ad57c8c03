#pragma once
#include <det/collectives/device/device_backend.hpp>
#include <det/collectives/rank_group.hpp>

#include <vector>

namespace det::collectives::device {

/// Bytes of memory of its own that a device needs for a call: what is sent while its place is received into.
std::size_t scratch_bytes(collectives::TensorCall const& call);

/// What the device of rank `self` does for a call that has been checked. `scratch`: as many bytes as it
/// needs. Pure.
std::vector<DeviceStep> device_steps_of(collectives::TensorCall const& call, Rank self, int ranks,
                                        void* scratch = nullptr);

/// The call as ranks tell it to each other: one on devices differs from the same one in host memory.
collectives::Call device_call_of(collectives::TensorCall const& call);

}  // namespace det::collectives::device
