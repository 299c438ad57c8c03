#pragma once
#include <det/collectives/device/device_backend.hpp>
#include <det/collectives/rank_group.hpp>
#include <det/transport/wait_policy.hpp>

namespace det::collectives::device {

/// Whether ranks compare their calls before work goes to the devices, as they do in host memory. Trusted
/// calls save a round of messages each, but calls that differ hang or give wrong data.
enum class Order { checked, trusted };

struct DeviceOptions {
    Order order = Order::checked;
    /// The rules for waiting for devices; ranks wait as long as all ranks live.
    transport::WaitPolicy waits = {};
};

/// Makes a group whose buffers may lie in device memory. Calls on device memory go to the device library, on
/// the stream that use_stream() named last; all other calls go to `host`. A started call returns when its
/// work is on the stream, and its Handle is complete when the event behind the work has passed. The devices
/// are connected at the first call that needs them. After a failure (a lost rank, a device, a timeout) the
/// device communicator is aborted, and every later call on device memory returns the same Error. Not
/// collective.
std::unique_ptr<collectives::RankGroup> make_device_group(std::unique_ptr<collectives::RankGroup> host,
                                                          std::shared_ptr<DeviceBackend> devices,
                                                          DeviceOptions options = {});

}  // namespace det::collectives::device
