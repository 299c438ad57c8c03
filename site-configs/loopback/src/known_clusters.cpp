#include "known_clusters.hpp"

namespace det::loopback {

Result<std::vector<ClusterPaths>> find_clusters(std::filesystem::path const& base) {
    std::vector<ClusterPaths> clusters;
    DET_TRY_ASSIGN(auto const names, list_directory(base));
    for (auto const& name : names) {
        auto paths = ClusterPaths::make(base, name);
        // A user may point --dir at a directory with other things in it.
        if (paths && path_exists(paths->log()) && path_exists(paths->shared())) clusters.push_back(*paths);
    }
    return clusters;
}

}  // namespace det::loopback
