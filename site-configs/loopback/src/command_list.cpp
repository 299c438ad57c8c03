#include <fmt/format.h>

#include "commands.hpp"
#include "keeper_record.hpp"
#include "known_clusters.hpp"

namespace det::loopback {

Result<int> run_list(std::filesystem::path const& base) {
    DET_TRY_ASSIGN(auto const clusters, find_clusters(base));
    for (auto const& paths : clusters) {
        DET_TRY_ASSIGN(auto const running, find_running(paths));
        auto const what =
            running ? fmt::format("up, {} nodes of {} slots", running->record.nodes, running->record.slots)
                    : std::string("down, files only");
        fmt::print("{}: {} ({})\n", paths.name(), what, paths.state().string());
    }
    return 0;
}

}  // namespace det::loopback
