#include "nccl_communicator.hpp"

#include "blocking_communicator.hpp"

namespace det::collectives::nccl::DET_GPU_API {

using collectives::device::DeviceCommunicator;
using collectives::device::Stream;

#ifdef DET_NCCL_HAS_CONFIG
namespace {

/// Requests may continue in NCCL's own thread until is_ready().
class NcclCommunicator final : public DeviceCommunicator {
public:
    NcclCommunicator(Functions functions, int ranks) : handle_(std::move(functions), ranks) {}
    ~NcclCommunicator() override {
        if (is_finished_) static_cast<void>(handle_.destroy());
    }

    Status begin(ncclUniqueId const& id, Rank rank) { return handle_.begin_connect(id, rank); }
    Result<bool> is_ready() override {
        if (is_aborted_) return Error{codes::misuse, "the devices' communicator was aborted"};
        DET_TRY_ASSIGN(bool const is_done, handle_.is_ready());
        is_finished_ = is_done && is_finishing_;
        return is_done;
    }
    Status enqueue(std::span<DeviceStep const> steps, Stream stream) override {
        return handle_.enqueue(steps, static_cast<GpuStream>(stream));
    }
    Status begin_finish() override {
        is_finishing_ = true;
        return handle_.finalize();
    }
    void abort() noexcept override {
        is_aborted_ = true;
        handle_.abort();
    }

private:
    NcclHandle handle_;
    bool is_aborted_ = false;
    bool is_finishing_ = false;
    bool is_finished_ = false;
};

}  // namespace
#endif

Result<std::unique_ptr<DeviceCommunicator>> begin_connect(Functions functions, ncclUniqueId const& id,
                                                          Rank rank, int ranks) {
#ifdef DET_NCCL_HAS_CONFIG
    if (can_connect_without_blocking(*functions.nccl)) {
        auto made = std::make_unique<NcclCommunicator>(std::move(functions), ranks);
        DET_TRY(made->begin(id, rank));
        return Result<std::unique_ptr<DeviceCommunicator>>(std::move(made));
    }
#endif
    return BlockingCommunicator::begin(std::move(functions), id, rank, ranks);
}

}  // namespace det::collectives::nccl::DET_GPU_API
