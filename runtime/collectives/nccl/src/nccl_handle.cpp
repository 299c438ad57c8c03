#include "nccl_handle.hpp"

#include <fmt/format.h>
#include <utility>

namespace det::collectives::nccl::DET_GPU_API {
namespace {

constexpr ncclDataType_t types[collectives::reducible_types.size()] = {
    ncclUint8, ncclInt32, ncclInt64, ncclFloat32, ncclFloat64, ncclFloat16, ncclBfloat16,
};
constexpr ncclRedOp_t ops[collectives::reduce_ops] = {ncclSum, ncclAvg, ncclMin, ncclMax, ncclProd};

/// The hint for what NCCL says; empty if it needs none.
std::string hint_for(std::string_view said) {
    if (said.find("Duplicate GPU") == said.npos) return {};
    return fmt::format(
        "each rank of a node needs a device of its own: call {}(LOCAL_RANK), in Python "
        "torch.cuda.set_device(LOCAL_RANK), before the first call on device memory, and ask for as many "
        "GPUs as the node has ranks",
        set_device_name);
}

bool is_in_progress([[maybe_unused]] ncclResult_t result) {
#ifdef DET_NCCL_HAS_CONFIG
    return result == ncclInProgress;
#else
    return false;
#endif
}

}  // namespace

ncclDataType_t type_of(collectives::DataType type) { return types[collectives::reducible_index(type)]; }
ncclRedOp_t op_of(collectives::ReduceOp op, int ranks) {
    if (ranks == 1 && op == collectives::ReduceOp::mean) return ncclSum;
    return ops[static_cast<std::size_t>(op)];
}

using collectives::device::DeviceAction;

Status NcclHandle::connect(ncclUniqueId const& id, Rank rank) {
    return to_status("connect the devices",
                     functions_.nccl->init_rank(&communicator_, ranks_, id, rank.value));
}

#ifdef DET_NCCL_HAS_CONFIG
Status NcclHandle::begin_connect(ncclUniqueId const& id, Rank rank) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    auto const begun = functions_.nccl->init_rank_config(&communicator_, ranks_, id, rank.value, &config);
    return to_status("connect the devices", begun);
}

Status NcclHandle::finalize() {
    return to_status("close the devices' communicator", functions_.nccl->finalize(communicator_));
}
#endif

Status NcclHandle::destroy() {
    return to_status("close the devices' communicator",
                     functions_.nccl->destroy(std::exchange(communicator_, nullptr)));
}

void NcclHandle::abort() noexcept {
    if (communicator_ != nullptr) static_cast<void>(functions_.nccl->abort(communicator_));
    communicator_ = nullptr;
}

Error NcclHandle::cannot(char const* what, ncclResult_t result) const {
    auto const& nccl = *functions_.nccl;
    auto error = Error{codes::transport, fmt::format("cannot {}: {}", what, nccl.get_error_string(result))};
    auto const* const last = nccl.get_last_error(communicator_);
    if (last == nullptr || *last == '\0') return error;
    error.notes.push_back(fmt::format("{} says: {}", nccl_name, last));
    error.hint = hint_for(last);
    return error;
}

Status NcclHandle::to_status(char const* what, ncclResult_t result) const {
    if (result == ncclSuccess || is_in_progress(result)) return Ok{};
    return cannot(what, result);
}

Result<bool> NcclHandle::is_ready() const {
    ncclResult_t state = ncclSuccess;
    if (auto const asked = functions_.nccl->get_async_error(communicator_, &state); asked != ncclSuccess)
        return cannot("ask how the devices do", asked);
    if (is_in_progress(state)) return false;
    if (state != ncclSuccess) return cannot("use the devices", state);
    return true;
}

Status NcclHandle::enqueue(std::span<DeviceStep const> steps, GpuStream stream) const {
    auto const& nccl = *functions_.nccl;
    for (; !steps.empty() && steps.front().action == DeviceAction::copy; steps = steps.subspan(1))
        DET_TRY(copy(steps.front(), stream));
    DET_TRY(to_status("begin a group of device operations", nccl.group_start()));
    auto first_failure = ncclSuccess;
    for (auto const& step : steps) {
        auto const result = enqueue_step(step, stream);
        if (result != ncclSuccess && !is_in_progress(result) && first_failure == ncclSuccess)
            first_failure = result;
    }
    auto const ended = nccl.group_end();  // also after an error, because groups nest
    DET_TRY(to_status("put an operation on a stream", first_failure));
    return to_status("put an operation on a stream", ended);
}

Status NcclHandle::copy(DeviceStep const& step, GpuStream stream) const {
    auto const copied = functions_.gpu->copy(gpu_pointer(step.out), gpu_pointer(step.in),
                                             step.count * size_of(step.type), stream);
    if (copied == gpu_success) return Ok{};
    return Error{codes::transport, fmt::format("cannot copy memory of the device: {} error {}", driver_name,
                                               static_cast<int>(copied))};
}

ncclResult_t NcclHandle::enqueue_step(DeviceStep const& step, GpuStream stream) const {
    auto const& nccl = *functions_.nccl;
    auto const type = type_of(step.type);
    auto const op = op_of(step.op, ranks_);
    auto const peer = step.peer.value;
    switch (step.action) {
        case DeviceAction::allreduce:
            return nccl.all_reduce(step.in, step.out, step.count, type, op, communicator_, stream);
        case DeviceAction::reduce:
            return nccl.reduce(step.in, step.out, step.count, type, op, peer, communicator_, stream);
        case DeviceAction::reduce_scatter:
            return nccl.reduce_scatter(step.in, step.out, step.count, type, op, communicator_, stream);
        case DeviceAction::allgather:
            return nccl.all_gather(step.in, step.out, step.count, type, communicator_, stream);
        case DeviceAction::broadcast:
            return nccl.broadcast(step.in, step.out, step.count, type, peer, communicator_, stream);
        case DeviceAction::send:
            return nccl.send(step.in, step.count, type, peer, communicator_, stream);
        case DeviceAction::receive:
            return nccl.receive(step.out, step.count, type, peer, communicator_, stream);
        case DeviceAction::copy:
            break;  // enqueue() makes copies before ncclGroupStart()
    }
    return ncclInvalidArgument;
}

}  // namespace det::collectives::nccl::DET_GPU_API
