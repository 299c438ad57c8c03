#pragma once
#include <det/checkpoint/state.hpp>
#include <det/tensor/device_copies.hpp>

#include <functional>

#include "write_plan.hpp"

namespace det::checkpoint {

/// True if the shard has tensors in device memory. `devices` may be null.
bool is_on_devices(ShardPlan const& shard, State const& state, tensor::DeviceCopies const* devices);

struct SnapshotOptions {
    int threads = 1;                          // threads that copy tensors in host memory
    tensor::DeviceCopies* devices = nullptr;  // copies tensors in device memory; may be null
    /// Called when the first size_bytes of the image are complete; by any thread, but one call at a time.
    std::function<void(std::uint64_t size_bytes)> on_available;
};

/// Copies of a snapshot that are in progress after take_snapshot() has returned. The destructor waits for
/// them. Any thread may use it, one at a time.
class LateCopies {
public:
    virtual ~LateCopies() = default;
    /// Blocks until the image is complete. Called once.
    virtual Status finish() = 0;
};

/// Makes the image of a shard at `image`, which has room for it: header and data as in the file.
/// Blocks until all tensors are copied but those in device memory with NamedTensor::copy_later.
/// \return the copies of these, which may be null; the Error if the device fails
Result<std::unique_ptr<LateCopies>> take_snapshot(ShardPlan const& shard, State const& state,
                                                  std::byte* image, SnapshotOptions const& options);

}  // namespace det::checkpoint
