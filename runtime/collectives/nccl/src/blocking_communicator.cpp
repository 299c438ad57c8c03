#include "blocking_communicator.hpp"

#include <det/foundation/start_thread.hpp>

#include <condition_variable>
#include <mutex>
#include <vector>

#include "gpu_device.hpp"

namespace det::collectives::nccl::DET_GPU_API {

using collectives::device::DeviceCommunicator;

/// Shared by the rank's thread, which posts a request when the last one is done, and the communicator's
/// thread. While a request is in progress only the communicator's thread uses `handle`, else only the holder
/// of `mutex` does.
struct BlockingCommunicator::State {
    State(Functions functions, int ranks, GpuContext of_device)
        : gpu(functions.gpu), handle(std::move(functions), ranks), context(of_device) {}

    void run();

    std::shared_ptr<GpuFunctions const> gpu;
    NcclHandle handle;
    GpuContext context;

    std::mutex mutex;
    std::condition_variable changed;
    std::function<Status(NcclHandle&)> request = {};  // empty: none is in progress
    Status result = Ok{};                             // of the last request
    bool is_aborted = false;
    bool has_finished = false;  // the communicator was destroyed
    bool is_over = false;       // the thread ends when no request is in progress
};

/// The body of the thread. It ends after abort() or the destructor, as soon as no request is in progress.
void BlockingCommunicator::State::run() {
    GpuContext before{};
    static_cast<void>(enter_context(*gpu, context, before));  // for as long as the thread lives
    std::unique_lock lock(mutex);
    while (true) {
        changed.wait(lock, [&] { return request || is_over; });
        if (is_over || !request) break;
        auto const current = request;
        lock.unlock();
        auto const done = current(handle);
        lock.lock();
        result = done;
        request = {};
    }
    if (!has_finished) handle.abort();
}

BlockingCommunicator::BlockingCommunicator(std::shared_ptr<State> state)
    : state_(std::move(state)),
      thread_(start_thread("det-nccl", [shared = state_](std::stop_token const&) { shared->run(); })) {}

Result<std::unique_ptr<DeviceCommunicator>> BlockingCommunicator::begin(Functions functions,
                                                                        ncclUniqueId const& id, Rank rank,
                                                                        int ranks) {
    DET_TRY_ASSIGN(auto const context, current_context(*functions.gpu));
    std::unique_ptr<BlockingCommunicator> made(
        new BlockingCommunicator(std::make_shared<State>(std::move(functions), ranks, context)));
    DET_TRY(made->post([id, rank](NcclHandle& handle) { return handle.connect(id, rank); }));
    return Result<std::unique_ptr<DeviceCommunicator>>(std::move(made));
}

BlockingCommunicator::~BlockingCommunicator() { abort(); }

Status BlockingCommunicator::post(std::function<Status(NcclHandle&)> request) {
    std::scoped_lock const lock(state_->mutex);
    if (state_->is_aborted) return Error{codes::misuse, "the devices' communicator was aborted"};
    if (state_->request) return Error{codes::misuse, "the last request to the devices is still in progress"};
    state_->request = std::move(request);
    state_->changed.notify_all();
    return Ok{};
}

Result<bool> BlockingCommunicator::is_ready() {
    std::scoped_lock const lock(state_->mutex);
    if (state_->is_aborted) return Error{codes::misuse, "the devices' communicator was aborted"};
    if (state_->request) return false;
    DET_TRY(state_->result);
    if (state_->has_finished) return true;
    return state_->handle.is_ready();
}

Status BlockingCommunicator::enqueue(std::span<DeviceStep const> steps, collectives::device::Stream stream) {
    return post([kept = std::vector(steps.begin(), steps.end()), stream](NcclHandle& handle) {
        return handle.enqueue(kept, static_cast<GpuStream>(stream));
    });
}

Status BlockingCommunicator::begin_finish() {
    return post([state = state_.get()](NcclHandle& handle) {
        auto const destroyed = handle.destroy();
        std::scoped_lock const lock(state->mutex);
        state->has_finished = true;
        return destroyed;
    });
}

void BlockingCommunicator::abort() noexcept {
    if (!thread_.joinable()) return;
    bool is_busy = false;
    {
        std::scoped_lock const lock(state_->mutex);
        is_busy = static_cast<bool>(state_->request);
        state_->is_aborted = state_->is_over = true;
        state_->changed.notify_all();
    }
    if (is_busy) {
        thread_.detach();  // it is in a call that nothing can end
    } else {
        thread_.join();
    }
}

}  // namespace det::collectives::nccl::DET_GPU_API
