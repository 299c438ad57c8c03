#include <fmt/format.h>

#include "commands.hpp"
#include "control.hpp"
#include "requirements.hpp"

namespace det::loopback {

Result<int> run_action(ClusterPaths const& paths, std::string const& action, std::string const& target) {
    DET_TRY(require_root());
    DET_TRY(require_running(paths));
    DET_TRY(ask_keeper(paths, fmt::format("{} {}", action, target)));
    return 0;
}

}  // namespace det::loopback
