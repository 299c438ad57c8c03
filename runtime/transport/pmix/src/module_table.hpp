#pragma once
#include <det/transport/pmix/pmix_bootstrap.hpp>

#include "open_module.hpp"

namespace det::transport::pmix {

/// The functions of det_pmix.so. Its entry point det_pmix_module() returns this table.
struct Table : ModuleTable {
    Result<std::unique_ptr<Bootstrap>> (*open_bootstrap)(BootstrapOptions);
};

}  // namespace det::transport::pmix
