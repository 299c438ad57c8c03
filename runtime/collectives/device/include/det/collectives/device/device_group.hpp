#pragma once
#include <det/collectives/device/device_backend.hpp>
#include <det/collectives/rank_group.hpp>
#include <det/transport/wait_policy.hpp>

namespace det::collectives::device {

/// Whether ranks compare what they call before it goes to the devices, as they do with host memory. Trusted
/// calls that differ are a wait without end, or wrong data; they save a round of messages for each call.
enum class Order { checked, trusted };

struct DeviceOptions {
    Order order = Order::checked;
    /// How long the devices of others are waited for: as long as the ranks live.
    transport::WaitPolicy waits = {};
};

/// Ranks that have devices. What lies in device memory goes from device to device, on the stream that
/// `use_stream` named last; all else is done by `host`. A handle is over when its event has passed; the call
/// that began it returns when the work is on the stream. The devices are connected at the first call that
/// needs them.
///
/// After a failure (a lost rank, a device, a timeout) the devices' communicator is aborted, and every later
/// call on device memory has the same Error.
std::unique_ptr<collectives::RankGroup> make_device_group(std::unique_ptr<collectives::RankGroup> host,
                                                          std::shared_ptr<DeviceBackend> devices,
                                                          DeviceOptions options = {});

}  // namespace det::collectives::device
