#include "driver.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

namespace det::gpu {
namespace {

/// Opens the driver and looks up its functions.
DriverFunctions load() {
    auto* const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw Failure("this machine has no CUDA driver (libcuda.so.1)");
    DriverFunctions found;
    auto const find = [&](auto& function, char const* name) {
        auto* const symbol = ::dlsym(library, name);
        if (symbol == nullptr) throw Failure(fmt::format("libcuda.so.1 lacks {}", name));
        function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(symbol);
    };
    find(found.init, "cuInit");
    find(found.version, "cuDriverGetVersion");
    find(found.device_count, "cuDeviceGetCount");
    find(found.device_get, "cuDeviceGet");
    find(found.device_name, "cuDeviceGetName");
    find(found.retain_context, "cuDevicePrimaryCtxRetain");
    find(found.set_context, "cuCtxSetCurrent");
    find(found.synchronize, "cuCtxSynchronize");
    find(found.error_string, "cuGetErrorString");
    find(found.memory_info, "cuMemGetInfo_v2");
    find(found.allocate, "cuMemAlloc_v2");
    find(found.free, "cuMemFree_v2");
    find(found.to_device, "cuMemcpyHtoD_v2");
    find(found.to_host, "cuMemcpyDtoH_v2");
    find(found.fill, "cuMemsetD8_v2");
    find(found.copy_async, "cuMemcpyAsync");
    find(found.to_device_async, "cuMemcpyHtoDAsync_v2");
    find(found.to_host_async, "cuMemcpyDtoHAsync_v2");
    find(found.allocate_pinned, "cuMemHostAlloc");
    find(found.free_pinned, "cuMemFreeHost");
    find(found.stream_create, "cuStreamCreate");
    find(found.stream_destroy, "cuStreamDestroy_v2");
    find(found.stream_synchronize, "cuStreamSynchronize");
    find(found.stream_wait_event, "cuStreamWaitEvent");
    find(found.begin_capture, "cuStreamBeginCapture_v2");
    find(found.end_capture, "cuStreamEndCapture");
    find(found.graph_destroy, "cuGraphDestroy");
    return found;
}

}  // namespace

Driver::Driver() : functions_(load()) {
    must(functions_.init(0), "initialise the driver");
    must(functions_.device_count(&device_count_), "count devices");
    if (device_count_ == 0) throw Failure("the CUDA driver has no device");
    must(functions_.device_get(&device_, 0), "find the first device");
    must(functions_.retain_context(&context_, device_), "use the first device");
    use_in_this_thread();
}

void Driver::must(CUresult result, char const* what) const {
    if (result == CUDA_SUCCESS) return;
    char const* text = nullptr;
    functions_.error_string(result, &text);
    throw Failure(fmt::format("CUDA cannot {}: {}", what, text != nullptr ? text : "unknown error"));
}

void Driver::use_in_this_thread() const { must(functions_.set_context(context_), "use the first device"); }

std::string Driver::device_name() const {
    char name[256] = {};
    must(functions_.device_name(name, sizeof name, device_), "name the device");
    return name;
}

std::string Driver::version() const {
    int version = 0;
    must(functions_.version(&version), "tell its version");
    return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::size_t Driver::free_bytes() const {
    std::size_t free = 0, total = 0;
    must(functions_.memory_info(&free, &total), "tell the size of its memory");
    return free;
}

DeviceMemory::DeviceMemory(Driver const& driver, std::size_t size_bytes)
    : driver_(driver), size_bytes_(size_bytes) {
    driver_.must(driver_.functions().allocate(&at_, size_bytes), "allocate memory of the device");
}
DeviceMemory::DeviceMemory(Driver const& driver, std::span<std::byte const> content)
    : DeviceMemory(driver, content.size()) {
    write(content);
}
DeviceMemory::~DeviceMemory() { static_cast<void>(driver_.functions().free(at_)); }

void DeviceMemory::write(std::span<std::byte const> content) const {
    driver_.must(driver_.functions().to_device(at_, content.data(), content.size()), "copy to the device");
}
void DeviceMemory::fill(unsigned char value) const {
    driver_.must(driver_.functions().fill(at_, value, size_bytes_), "fill memory of the device");
    driver_.must(driver_.functions().synchronize(), "wait for the device");
}
std::vector<std::byte> DeviceMemory::read() const {
    std::vector<std::byte> content(size_bytes_);
    driver_.must(driver_.functions().to_host(content.data(), at_, size_bytes_), "copy to the host");
    return content;
}

PinnedMemory::PinnedMemory(Driver const& driver, std::size_t size_bytes) : driver_(driver) {
    void* data = nullptr;
    driver_.must(driver_.functions().allocate_pinned(&data, size_bytes, 0), "allocate pinned memory");
    data_ = static_cast<std::byte*>(data);
}
PinnedMemory::~PinnedMemory() { static_cast<void>(driver_.functions().free_pinned(data_)); }

DeviceStream::DeviceStream(Driver const& driver) : driver_(driver) {
    driver_.must(driver_.functions().stream_create(&stream_, CU_STREAM_NON_BLOCKING), "make a stream");
}
DeviceStream::~DeviceStream() { static_cast<void>(driver_.functions().stream_destroy(stream_)); }

void DeviceStream::synchronize() const {
    driver_.must(driver_.functions().stream_synchronize(stream_), "wait for a stream");
}

}  // namespace det::gpu
