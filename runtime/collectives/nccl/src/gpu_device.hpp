#pragma once
#include <memory>

#include "libraries.hpp"

namespace det::collectives::nccl::DET_GPU_API {

using Gpu = std::shared_ptr<GpuFunctions const>;

// What DeviceBackend does with the driver alone. Objects keep their context: another thread may use
// or release them, and has perhaps no current context.

/// The context of this thread, which belongs to its current device.
Result<GpuContext> current_context(GpuFunctions const& gpu);
Result<std::unique_ptr<device::DeviceEvent>> record_event(Gpu const& gpu, GpuStream stream);
/// A stream that does not synchronise with the default stream.
Result<std::unique_ptr<device::DeviceStream>> make_stream(Gpu const& gpu);
Result<std::unique_ptr<device::DeviceScratch>> allocate(Gpu const& gpu, std::size_t size_bytes,
                                                        GpuStream stream);
Result<tensor::PinGuard> pin(Gpu const& gpu, std::span<std::byte> host);
Status copy(GpuFunctions const& gpu, tensor::CopyDirection to, tensor::DeviceCopy const& copy,
            GpuStream stream);
bool is_device_memory(GpuFunctions const& gpu, void const* memory);
Result<bool> is_capturing(GpuFunctions const& gpu, GpuStream stream);

}  // namespace det::collectives::nccl::DET_GPU_API
