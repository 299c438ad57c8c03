#pragma once
#include "nccl_handle.hpp"

namespace det::collectives::nccl::DET_GPU_API {

/// Begins to connect the devices. The communicator's requests never block the caller: NCCL 2.14 and newer go
/// on with them in a thread of their own, and for older ones we have one (BlockingCommunicator).
/// \param ranks number of ranks
Result<std::unique_ptr<collectives::device::DeviceCommunicator>> begin_connect(Functions functions,
                                                                               ncclUniqueId const& id,
                                                                               Rank rank, int ranks);

}  // namespace det::collectives::nccl::DET_GPU_API
