#pragma once
#include <det/collectives/tensor.hpp>
#include <det/foundation/result.hpp>
#include <det/protocol/ids.hpp>
#include <det/tensor/device_copies.hpp>

#include <memory>
#include <span>
#include <string>

namespace det::collectives::device {

/// A queue of device work that runs in order: a cudaStream_t. nullptr is the default stream.
using Stream = void*;

enum class DeviceAction : std::uint8_t {
    allreduce,
    reduce,
    reduce_scatter,
    allgather,
    broadcast,
    send,
    receive,
    copy,  // on this device, before the other steps that are enqueued with it
};
inline constexpr std::size_t device_actions = 8;

/// One call of the device library. `count` is the number of elements of `in` or of `out`: of the smaller one
/// if their sizes differ.
struct DeviceStep {
    DeviceAction action = DeviceAction::allreduce;
    void const* in = nullptr;
    void* out = nullptr;
    std::size_t count = 0;
    collectives::DataType type = collectives::DataType::uint8;
    collectives::ReduceOp op = collectives::ReduceOp::sum;
    Rank peer = {};  // the root; for send and receive, the other rank
};

/// Memory of the device for work on one stream. The destructor releases it in stream order, after the work
/// that is on the stream by then.
class DeviceScratch {
public:
    virtual ~DeviceScratch() = default;
    virtual void* data() const = 0;
};

/// A point on a stream.
class DeviceEvent {
public:
    virtual ~DeviceEvent() = default;
    /// Whether all work before this point is done; an Error if the device failed. Does not block.
    virtual Result<bool> has_passed() = 0;
    /// The cudaEvent_t, for which other streams may wait.
    virtual void* handle() const = 0;
};

/// A stream that the backend has made. The destructor lets work that is on it end by itself.
class DeviceStream {
public:
    virtual ~DeviceStream() = default;
    virtual Stream handle() const = 0;
};

/// The connected devices of all ranks. No function waits for other ranks. The destructor aborts, unless the
/// communicator has finished.
class DeviceCommunicator {
public:
    virtual ~DeviceCommunicator() = default;

    /// Whether the last request (connect, enqueue, finish) is accepted, so that the next one may follow. An
    /// Error if something has failed, on this rank or another, at any time.
    virtual Result<bool> is_ready() = 0;
    /// Puts all steps on the stream as one group.
    virtual Status enqueue(std::span<DeviceStep const> steps, Stream stream) = 0;
    /// Begins to close the communicator. Collective.
    virtual Status begin_finish() = 0;
    /// Ends all work in progress on this rank. Does not notify the other ranks.
    virtual void abort() noexcept = 0;
};

/// The device of this process and the library that connects the devices of all ranks: NCCL, or a substitute
/// in tests. The device is the current one of the calling thread.
class DeviceBackend {
public:
    virtual ~DeviceBackend() = default;

    virtual bool is_device_memory(void const* memory) const = 0;
    /// Whether work on the stream is now recorded in a graph instead of done. Most calls of a device library
    /// on such a stream fail and make the recording useless.
    virtual Result<bool> is_capturing(Stream stream) const = 0;
    /// Loads the library that connects devices; the other functions do not need it.
    virtual Status load_communication_library() = 0;
    /// Makes the id that all ranks need to connect. One rank calls it.
    virtual Result<std::string> make_id() = 0;
    /// Begins to connect the devices. Collective. They are connected when is_ready() returns true.
    virtual Result<std::unique_ptr<DeviceCommunicator>> begin_connect(std::string const& id, Rank rank,
                                                                      int ranks) = 0;
    virtual Result<std::unique_ptr<DeviceScratch>> allocate(std::size_t size_bytes, Stream stream) = 0;
    virtual Result<tensor::PinGuard> pin(std::span<std::byte> host) = 0;
    /// Puts the copy on the stream. If the host memory is not pinned, the copy may be complete on return.
    virtual Status copy(tensor::CopyDirection to, tensor::DeviceCopy const& copy, Stream stream) = 0;
    /// Makes a stream that runs beside all others, the default stream included.
    virtual Result<std::unique_ptr<DeviceStream>> make_stream() = 0;
    /// Records an event after all work that is on the stream now. Any thread may use the event.
    virtual Result<std::unique_ptr<DeviceEvent>> record(Stream stream) = 0;
};

}  // namespace det::collectives::device
