#pragma once
#include <det/foundation/clock.hpp>
#include <det/protocol/directory_layout.hpp>
#include <det/protocol/ids.hpp>

#include <string>
#include <vector>

namespace det::journal {

/// A node that made a run of an experiment fail.
struct BadNode {
    std::string host;
    ExperimentId experiment;
    UtcTime time;     // of the last such run
    std::string why;  // the end of that run, in one line
};

/// Records a node below the root: one file per node and experiment, which replaces an older one.
/// \return codes::bad_value if the host's name can't be a part of a file name
Status remember_bad_node(RootLayout const& root, BadNode const& node);

/// Reads all records; those of one host follow each other. Skips files that can't be read or parsed.
Result<std::vector<BadNode>> load_bad_nodes(RootLayout const& root);

}  // namespace det::journal
