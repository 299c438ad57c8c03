#pragma once
#include <memory>

#include "libraries.hpp"

namespace det::collectives::nccl::DET_GPU_API {

using collectives::device::DeviceStep;

ncclDataType_t type_of(collectives::DataType type);
/// The operation over this number of ranks. The mean of one rank is a sum: NCCL 2.28's ncclAvg of one rank
/// leaves the last elements of an odd number unwritten if `in` and `out` differ.
ncclRedOp_t op_of(collectives::ReduceOp op, int ranks);

struct Functions {
    std::shared_ptr<NcclFunctions const> nccl;
    std::shared_ptr<GpuFunctions const> gpu;
};

/// An ncclComm_t and the calls on it, with NCCL's results as Errors. One thread at a time.
class NcclHandle {
public:
    NcclHandle(Functions functions, int ranks) : functions_(std::move(functions)), ranks_(ranks) {}
    NcclHandle(NcclHandle const&) = delete;
    NcclHandle& operator=(NcclHandle const&) = delete;
    ~NcclHandle() { abort(); }

    /// Returns when all ranks have connected. Nothing can end this call earlier.
    Status connect(ncclUniqueId const& id, Rank rank);
#ifdef DET_NCCL_HAS_CONFIG
    /// Begins to connect; the calls that follow do not block either.
    Status begin_connect(ncclUniqueId const& id, Rank rank);
    Status finalize();
#endif
    /// Whether the last call is done; an Error if something has failed.
    Result<bool> is_ready() const;
    /// Puts all steps on the stream as one group.
    Status enqueue(std::span<DeviceStep const> steps, GpuStream stream) const;
    /// Releases the communicator after its last operation.
    Status destroy();
    /// Ends all work in progress and releases the communicator.
    void abort() noexcept;

private:
    Error cannot(char const* what, ncclResult_t result) const;
    /// Converts NCCL's result to a Status. ncclInProgress counts as success.
    Status to_status(char const* what, ncclResult_t result) const;
    Status copy(DeviceStep const& step, GpuStream stream) const;
    ncclResult_t enqueue_step(DeviceStep const& step, GpuStream stream) const;

    Functions functions_;
    int ranks_;
    ncclComm_t communicator_ = nullptr;  // null: not connected, or released
};

}  // namespace det::collectives::nccl::DET_GPU_API
