#pragma once
#include <cstddef>
#include <cuda.h>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace det::gpu {

/// Why a row failed.
class Failure : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// The functions of CUDA's driver that the checks call. The library is opened at run time, so that the
/// program starts without a driver.
struct DriverFunctions {
    decltype(&::cuInit) init = nullptr;
    decltype(&::cuDriverGetVersion) version = nullptr;
    decltype(&::cuDeviceGetCount) device_count = nullptr;
    decltype(&::cuDeviceGet) device_get = nullptr;
    decltype(&::cuDeviceGetName) device_name = nullptr;
    decltype(&::cuDevicePrimaryCtxRetain) retain_context = nullptr;
    decltype(&::cuCtxSetCurrent) set_context = nullptr;
    decltype(&::cuCtxSynchronize) synchronize = nullptr;
    decltype(&::cuGetErrorString) error_string = nullptr;
    decltype(&::cuMemGetInfo) memory_info = nullptr;
    decltype(&::cuMemAlloc) allocate = nullptr;
    decltype(&::cuMemFree) free = nullptr;
    decltype(&::cuMemcpyHtoD) to_device = nullptr;
    decltype(&::cuMemcpyDtoH) to_host = nullptr;
    decltype(&::cuMemsetD8) fill = nullptr;
    decltype(&::cuMemcpyAsync) copy_async = nullptr;
    decltype(&::cuMemcpyHtoDAsync) to_device_async = nullptr;
    decltype(&::cuMemcpyDtoHAsync) to_host_async = nullptr;
    decltype(&::cuMemHostAlloc) allocate_pinned = nullptr;
    decltype(&::cuMemFreeHost) free_pinned = nullptr;
    decltype(&::cuStreamCreate) stream_create = nullptr;
    decltype(&::cuStreamDestroy) stream_destroy = nullptr;
    decltype(&::cuStreamSynchronize) stream_synchronize = nullptr;
    decltype(&::cuStreamWaitEvent) stream_wait_event = nullptr;
    decltype(&::cuStreamBeginCapture) begin_capture = nullptr;
    decltype(&::cuStreamEndCapture) end_capture = nullptr;
    decltype(&::cuGraphDestroy) graph_destroy = nullptr;
};

/// CUDA's driver, with the first device as that of this process.
class Driver {
public:
    /// Throws a Failure that says why there is no device.
    Driver();

    DriverFunctions const& functions() const { return functions_; }
    int device_count() const { return device_count_; }
    std::string device_name() const;
    /// As in "13.0".
    std::string version() const;
    /// Bytes of device memory that are free.
    std::size_t free_bytes() const;
    /// Throws a Failure if a call did not succeed.
    void must(CUresult result, char const* what) const;
    /// Makes the device that of the calling thread.
    void use_in_this_thread() const;

private:
    DriverFunctions functions_;
    int device_count_ = 0;
    CUdevice device_ = 0;
    CUcontext context_ = nullptr;
};

/// Memory of the device.
class DeviceMemory {
public:
    DeviceMemory(Driver const& driver, std::size_t size_bytes);
    DeviceMemory(Driver const& driver, std::span<std::byte const> content);
    DeviceMemory(DeviceMemory const&) = delete;
    DeviceMemory& operator=(DeviceMemory const&) = delete;
    ~DeviceMemory();

    void* data() const { return reinterpret_cast<void*>(at_); }
    CUdeviceptr address() const { return at_; }
    std::size_t size_bytes() const { return size_bytes_; }
    void write(std::span<std::byte const> content) const;
    void fill(unsigned char value) const;
    std::vector<std::byte> read() const;

private:
    Driver const& driver_;
    CUdeviceptr at_ = 0;
    std::size_t size_bytes_;
};

/// Pinned memory of the host.
class PinnedMemory {
public:
    PinnedMemory(Driver const& driver, std::size_t size_bytes);
    PinnedMemory(PinnedMemory const&) = delete;
    PinnedMemory& operator=(PinnedMemory const&) = delete;
    ~PinnedMemory();

    std::byte* data() const { return data_; }

private:
    Driver const& driver_;
    std::byte* data_ = nullptr;
};

/// A stream that does not synchronise with the default stream.
class DeviceStream {
public:
    explicit DeviceStream(Driver const& driver);
    DeviceStream(DeviceStream const&) = delete;
    DeviceStream& operator=(DeviceStream const&) = delete;
    ~DeviceStream();

    CUstream get() const { return stream_; }
    void synchronize() const;

private:
    Driver const& driver_;
    CUstream stream_ = nullptr;
};

}  // namespace det::gpu
