#pragma once
#include <det/checkpoint/store.hpp>
#include <det/protocol/record.hpp>

#include <span>
#include <vector>

namespace det::checkpoint {

/// The checkpoints of a run by its chief's journal, the newest last: those that it saw committed, whether or
/// not they are still there, and those that it began and did not live to tell of, if the store has them. An
/// error where the store can't say.
Result<std::vector<CheckpointCommitted>> checkpoints_of_run(std::span<Record const> journal,
                                                            Store const& store);

}  // namespace det::checkpoint
