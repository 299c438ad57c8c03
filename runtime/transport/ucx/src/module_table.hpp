#pragma once
#include <det/transport/ucx/ucx_transport.hpp>

#include "open_module.hpp"

namespace det::transport::ucx {

/// The functions of det_ucx.so. Its entry point det_ucx_module() returns this table.
struct Table : ModuleTable {
    Result<std::unique_ptr<Transport>> (*open_transport)(std::unique_ptr<Bootstrap>, Options);
};

}  // namespace det::transport::ucx
