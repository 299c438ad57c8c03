#pragma once
#include <det/transport/pmix/pmix_bootstrap.hpp>

#include "open_module.hpp"

namespace det::transport::pmix {

/// What det_pmix_module() of det_pmix.so returns.
struct Table : ModuleTable {
    Result<std::unique_ptr<Bootstrap>> (*open_bootstrap)(BootstrapOptions);
};

}  // namespace det::transport::pmix
