#pragma once
#include <filesystem>

#include "cluster_options.hpp"
#include "cluster_paths.hpp"

namespace det::loopback {

/// What 'up' tells the keeper that it starts; the rest stands in the files of the state directory.
struct KeeperOptions {
    ClusterPaths paths;
    int nodes;
    int slots;
    Proctrack proctrack;
    std::filesystem::path software;  // the build tree
};

}  // namespace det::loopback
