#pragma once
#include <memory>

#include "libraries.hpp"

namespace det::collectives::nccl {

using Cuda = std::shared_ptr<CudaFunctions const>;

// What DeviceBackend does with CUDA's driver alone. Objects keep their CUDA context: another thread may use
// or release them, and has perhaps no current context.

Result<std::unique_ptr<device::DeviceEvent>> record_event(Cuda const& cuda, CUstream stream);
/// A stream that does not synchronise with the default stream.
Result<std::unique_ptr<device::DeviceStream>> make_stream(Cuda const& cuda);
Result<std::unique_ptr<device::DeviceScratch>> allocate(Cuda const& cuda, std::size_t size_bytes,
                                                        CUstream stream);
Result<tensor::PinGuard> pin(Cuda const& cuda, std::span<std::byte> host);
Status copy(CudaFunctions const& cuda, tensor::CopyDirection to, tensor::DeviceCopy const& copy,
            CUstream stream);
bool is_device_memory(CudaFunctions const& cuda, void const* memory);
Result<bool> is_capturing(CudaFunctions const& cuda, CUstream stream);

}  // namespace det::collectives::nccl
