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
    UtcTime time;     // when the last such run ended
    std::string why;  // message about the end of that run, one line
};

/// Records a node below the root: one file per node and experiment. A newer record replaces the older one.
/// \return codes::bad_value if the host's name can't be a part of a file name
Status remember_bad_node(RootLayout const& root, BadNode const& node);

/// Reads all records; those of one host follow each other. Skips files that can't be read or parsed.
Result<std::vector<BadNode>> load_bad_nodes(RootLayout const& root);

}  // namespace det::journal
