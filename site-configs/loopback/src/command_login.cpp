#include "commands.hpp"
#include "requirements.hpp"

namespace det::loopback {

Result<int> run_login(ClusterPaths const& paths, Login const& login, Environment const& caller) {
    DET_TRY(require_root());
    DET_TRY_ASSIGN(auto const cluster, require_running(paths));
    return log_in(paths, cluster, login, caller);
}

}  // namespace det::loopback
