// The program's side of the PMIx module: opens det_pmix.so and calls the functions of its table.
#include "module_table.hpp"

namespace det::transport::pmix {

Result<std::unique_ptr<Bootstrap>> open_bootstrap(BootstrapOptions options) {
    DET_TRY_ASSIGN(auto const* const module,
                   open_module_as<Table>({"det_pmix.so", "det_pmix_module", "PMIx", "libpmix.so",
                                          "install PMIx (Debian: libpmix2) on this node"}));
    return module->open_bootstrap(options);
}

}  // namespace det::transport::pmix
