#pragma once
#include <det/collectives/device/device_backend.hpp>
#include <det/collectives/rank_group.hpp>
#include <det/liveness/wait_policy.hpp>

namespace det::collectives::device {

/// Makes a group whose buffers may be in device memory. Calls on device memory go to the device library, on
/// the stream that use_stream() set last; a call with one buffer in device memory and one in host memory is
/// an Error; all other calls go to `host`. start() returns when its work is on the stream, and the Handle is
/// complete when the event after the work has passed. The devices are connected at the first call that needs
/// them. After a failure (a lost rank, a device, a timeout) the device communicator is aborted, and every
/// later call on device memory returns the same Error. Not collective.
/// \param waits limits waits for devices. Without a time limit, a rank waits until the work is done or a rank
///     is lost.
std::unique_ptr<collectives::RankGroup> make_device_group(std::shared_ptr<collectives::RankGroup> host,
                                                          std::shared_ptr<DeviceBackend> devices,
                                                          liveness::WaitPolicy waits = {});

}  // namespace det::collectives::device
