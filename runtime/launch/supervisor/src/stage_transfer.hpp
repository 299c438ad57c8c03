#pragma once
#include <det/collectives/distributed_context.hpp>

#include <string>
#include <vector>

#include "stage_cache.hpp"

namespace det::launch::supervisor {

/// A file on its way to this node.
struct StageTask {
    StageItem item;
    bool is_there = false;                 // linked into the directory of the job
    bool is_received = false;              // the copy has all bytes, and is not finished
    std::unique_ptr<StageCopy> copy = {};  // this process makes the entry
};

/// Reads the file into the copy.
Status copy_alone(StageTask& task);

/// Fills the copies of a file on all nodes of the context: the chief reads it, and sends it block by block
/// to the others. Collective; a node without a copy takes part. codes::transport or codes::timed_out if a
/// node is lost. \return an error of the chief's reading on all nodes, other errors where they occur
Status copy_together(StageTask& task, collectives::DistributedContext& nodes);

}  // namespace det::launch::supervisor
