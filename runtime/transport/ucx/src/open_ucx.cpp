// The program's side of the UCX module: opens det_ucx.so and calls the functions of its table.
#include <det/foundation/files.hpp>

#include "devices.hpp"
#include "module_table.hpp"
#include "transports.hpp"

namespace det::transport::ucx {
namespace {

Result<Table const*> open_table() {
    return open_module_as<Table>(
        {"det_ucx.so", "det_ucx_module", "UCX", "libucp.so",
         "install UCX (Debian: libucx0) on this node or in the container's image, or set "
         "DET_TRANSPORT=tcp in the experiment's environment"});
}

}  // namespace

bool is_available() { return open_table().has_value(); }

bool can_connect_nodes(std::string const& interfaces, std::string const& transports) {
    bool const has_adapter =
        interfaces.empty() ? path_exists("/sys/class/infiniband") : !ucx_devices(interfaces).empty();
    return has_adapter && reach_other_nodes(without_tcp(transports)) && is_available();
}

bool is_tcp_left_out(std::string const& transports) { return names_tcp(transports); }

Result<std::unique_ptr<Transport>> open_transport(std::unique_ptr<Bootstrap> bootstrap, Options options) {
    DET_TRY_ASSIGN(auto const* const module, open_table());
    return module->open_transport(std::move(bootstrap), std::move(options));
}

}  // namespace det::transport::ucx
