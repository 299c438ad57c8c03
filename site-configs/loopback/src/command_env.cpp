#include <fmt/format.h>

#include "commands.hpp"
#include "keeper_record.hpp"
#include "login_environment.hpp"

namespace det::loopback {

Result<int> run_env(ClusterPaths const& paths, std::string const& user) {
    DET_TRY(require_running(paths));
    fmt::print("{}", render_exports(site_variables(paths, user)));
    return 0;
}

}  // namespace det::loopback
