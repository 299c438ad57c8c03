#pragma once
#include <det/checkpoint/store.hpp>
#include <det/protocol/layout.hpp>

#include <functional>

namespace det::retention {

/// A checkpoint that a run has begun but never committed, for example because the run was killed.
struct UncommittedCheckpoint {
    std::string uuid;
    std::uint32_t trial = 0;
    std::uint32_t run = 0;
};

/// The uncommitted checkpoints of an experiment, from its journals. Checkpoints of the newest run of an
/// unfinished trial are left out, because the run may still write them.
Result<std::vector<UncommittedCheckpoint>> find_uncommitted(
    ExperimentLayout const& experiment, checkpoint::Store const& store,
    std::function<bool(std::uint32_t trial)> const& is_over);

}  // namespace det::retention
