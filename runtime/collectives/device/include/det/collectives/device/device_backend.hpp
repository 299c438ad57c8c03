#pragma once
#include <det/collectives/tensor.hpp>
#include <det/foundation/result.hpp>
#include <det/protocol/ids.hpp>
#include <det/tensor/device_copies.hpp>

#include <memory>
#include <span>
#include <string>

namespace det::collectives::device {

/// A queue of a device, on which work is done in order: a cudaStream_t. Null: the default one.
using Stream = void*;

enum class DeviceAction : std::uint8_t {
    allreduce,
    reduce,
    reduce_scatter,
    allgather,
    broadcast,
    send,
    receive,
    copy,  // on this device, before all else that is put on the stream with it
};
inline constexpr std::size_t device_actions = 8;

/// What a library for devices does at once. `count`: elements that each rank puts in; of a reduce_scatter
/// those that each gets.
struct DeviceStep {
    DeviceAction action = DeviceAction::allreduce;
    void const* in = nullptr;
    void* out = nullptr;
    std::size_t count = 0;
    collectives::DataType type = collectives::DataType::uint8;
    collectives::ReduceOp op = collectives::ReduceOp::sum;
    Rank peer = {};  // the root; of send and receive the other rank
};

/// Memory of the device that what is put on its stream may use, until this is destroyed: it is given back in
/// the order of the stream.
class DeviceScratch {
public:
    virtual ~DeviceScratch() = default;
    virtual void* data() const = 0;
};

/// A point on a stream.
class DeviceEvent {
public:
    virtual ~DeviceEvent() = default;
    /// Whether all that was put on the stream before it is done; an Error where the device failed.
    virtual Result<bool> has_passed() = 0;
    /// A cudaEvent_t, for which other streams may wait.
    virtual void* handle() const = 0;
};

/// The devices of all ranks, connected. Nothing here waits for other ranks. Destroying it is aborting it,
/// unless it has finished.
class DeviceCommunicator {
public:
    virtual ~DeviceCommunicator() = default;

    /// Whether what was asked for last (to connect, to enqueue, to finish) has been taken in, so that more
    /// may be asked for. An Error where something failed, here or at another rank, whenever that was.
    virtual Result<bool> is_ready() = 0;
    /// Puts all of it on the stream, to be done as one.
    virtual Status enqueue(std::span<DeviceStep const> steps, Stream stream) = 0;
    /// In common with the others: nothing will follow.
    virtual Status begin_finish() = 0;
    /// Ends what is on its way, here; the others are not told.
    virtual void abort() noexcept = 0;
};

/// The devices of this process and the library that connects them: NCCL, or what stands for it in tests. The
/// device is the current one of the calling thread.
class DeviceBackend {
public:
    virtual ~DeviceBackend() = default;

    virtual bool is_device_memory(void const* memory) const = 0;
    /// What all ranks have to know to connect; made by one of them.
    virtual Result<std::string> make_id() = 0;
    virtual Result<std::unique_ptr<DeviceCommunicator>> begin_connect(std::string const& id, Rank rank,
                                                                      int ranks) = 0;
    virtual Result<std::unique_ptr<DeviceScratch>> allocate(std::size_t size_bytes, Stream stream) = 0;
    virtual Result<tensor::PinGuard> pin(std::span<std::byte> host) = 0;
    /// Puts it on the stream. Where the host's memory is not pinned it may have been done on return.
    virtual Status copy(tensor::CopyDirection to, tensor::DeviceCopy const& copy, Stream stream) = 0;
    /// Behind all that is on the stream now.
    virtual Result<std::unique_ptr<DeviceEvent>> record(Stream stream) = 0;
};

}  // namespace det::collectives::device
