#pragma once
#include <det/foundation/result.hpp>

#include <cstddef>
#include <memory>
#include <span>

namespace det::tensor {

enum class CopyDirection { to_host, to_device };

/// One contiguous copy between memory of the host and memory of the device. Does not own the memory.
struct DeviceCopy {
    void* to = nullptr;
    void const* from = nullptr;
    std::size_t size_bytes = 0;
};

/// Copies that have been started. The destructor waits for them, so that the memory outlives the copies. Any
/// thread may call wait() and the destructor.
class PendingCopies {
public:
    virtual ~PendingCopies() = default;
    /// Blocks until all copies are complete. Called at most once.
    /// \return codes::timed_out, or the error of the device
    virtual Status wait() = 0;
};

/// Keeps a range of host memory pinned (page-locked) while it exists.
using PinGuard = std::shared_ptr<void>;

/// Copies between host memory and the memory of this rank's device. Collectives implement it; checkpoints use
/// it. No call is collective.
///
/// Thread safety: one thread at a time, which is the thread that calls collectives.
class DeviceCopies {
public:
    virtual ~DeviceCopies() = default;
    virtual bool is_device_memory(void const* memory) const = 0;
    /// Pins host memory, so that the device copies to and from it at full speed.
    /// \param host must outlive the guard
    virtual Result<PinGuard> pin(std::span<std::byte> host) = 0;
    /// Starts copies after the work that is on the rank's stream (DistributedContext::use_stream).
    ///
    /// Blocks until that work is done, because it may depend on other ranks, and does not wait for the
    /// copies. Copies to the host run beside work that is put on the stream afterwards, which must not change
    /// the memory before they are complete.
    /// \param copies all in one direction; the memory must stay until they are complete
    /// \return never null. codes::timed_out if that work does not end in time; codes::transport if a rank is
    ///     lost; the error of the device
    virtual Result<std::unique_ptr<PendingCopies>> start(CopyDirection direction,
                                                         std::span<DeviceCopy const> copies) = 0;
};

}  // namespace det::tensor
