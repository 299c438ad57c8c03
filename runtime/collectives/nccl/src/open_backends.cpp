// Chooses between the two builds of the backend, of which this program may lack one or both.
#include <det/collectives/nccl/nccl_backend.hpp>

#include <fmt/format.h>

namespace det::collectives::nccl {

using Backend = Result<std::shared_ptr<collectives::device::DeviceBackend>>;

#ifdef DET_WITH_CUDA
namespace cuda {
Backend open_backend(Libraries const& libraries);
}
Backend open_nccl(Libraries const& libraries) { return cuda::open_backend(libraries); }
#else
Backend open_nccl(Libraries const& /*libraries*/) {
    return Error{codes::transport, "this program was built without NCCL",
                 "install CUDA and NCCL and build again"};
}
#endif

#ifdef DET_WITH_HIP
namespace hip {
Backend open_backend(Libraries const& libraries);
}
Backend open_rccl(Libraries const& libraries) { return hip::open_backend(libraries); }
#else
Backend open_rccl(Libraries const& /*libraries*/) {
    return Error{codes::transport, "this program was built without RCCL",
                 "install HIP and RCCL of ROCm and build again"};
}
#endif

}  // namespace det::collectives::nccl
