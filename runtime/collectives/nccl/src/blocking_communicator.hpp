#pragma once
#include <functional>
#include <thread>

#include "nccl_handle.hpp"

namespace det::collectives::nccl::DET_GPU_API {

/// The communicator of NCCL before 2.14 (RCCL before ROCm 5.5), whose calls block until the other ranks take
/// part. A thread makes them, one after the other, so that the rank's own thread can give up: it checks
/// is_ready() with its time limit and for lost ranks.
///
/// NCCL has no call that ends ncclCommInitRank(), or the first send or receive between two ranks, before the
/// other rank takes part. If abort() comes during such a call, the thread stays in it. When the call
/// returns, it may have put its work on the stream; the thread aborts the communicator and ends. Until then
/// the buffers of that call must stay, so a rank that has timed out should end.
class BlockingCommunicator final : public collectives::device::DeviceCommunicator {
public:
    static Result<std::unique_ptr<DeviceCommunicator>> begin(Functions functions, ncclUniqueId const& id,
                                                             Rank rank, int ranks);
    ~BlockingCommunicator() override;

    Result<bool> is_ready() override;
    Status enqueue(std::span<DeviceStep const> steps, collectives::device::Stream stream) override;
    Status begin_finish() override;
    void abort() noexcept override;

private:
    struct State;

    explicit BlockingCommunicator(std::shared_ptr<State> state);
    Status post(std::function<Status(NcclHandle&)> request);

    std::shared_ptr<State> state_;
    std::jthread thread_;
};

}  // namespace det::collectives::nccl::DET_GPU_API
