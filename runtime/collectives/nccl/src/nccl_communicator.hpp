#pragma once
#include <memory>

#include "libraries.hpp"

namespace det::collectives::nccl {

ncclDataType_t type_of(collectives::DataType type);
/// The operation over this number of ranks. The mean of one rank is a sum: NCCL 2.28's ncclAvg of one rank
/// leaves the last elements of an odd number unwritten if `in` and `out` differ.
ncclRedOp_t op_of(collectives::ReduceOp op, int ranks);

using collectives::device::DeviceStep;
using collectives::device::Stream;

struct Functions {
    std::shared_ptr<NcclFunctions const> nccl;
    std::shared_ptr<CudaFunctions const> cuda;
};

/// An ncclComm_t that never blocks: a request may continue in NCCL's own thread until is_ready().
class NcclCommunicator final : public collectives::device::DeviceCommunicator {
public:
    static Result<std::unique_ptr<DeviceCommunicator>> begin(Functions functions, ncclUniqueId const& id,
                                                             Rank rank, int ranks);
    ~NcclCommunicator() override;

    Result<bool> is_ready() override;
    Status enqueue(std::span<DeviceStep const> steps, Stream stream) override;
    Status begin_finish() override;
    void abort() noexcept override;

private:
    NcclCommunicator(Functions functions, int ranks) : functions_(std::move(functions)), ranks_(ranks) {}

    Error cannot(char const* what, ncclResult_t result) const;
    /// Converts NCCL's result to a Status. ncclInProgress counts as success.
    Status to_status(char const* what, ncclResult_t result) const;
    Status copy(DeviceStep const& step, CUstream stream) const;
    ncclResult_t enqueue_step(DeviceStep const& step, CUstream stream) const;

    Functions functions_;
    int ranks_;
    ncclComm_t communicator_ = nullptr;  // null: aborted
    bool is_finishing_ = false;
    bool is_finished_ = false;
};

}  // namespace det::collectives::nccl
