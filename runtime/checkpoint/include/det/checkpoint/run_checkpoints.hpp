#pragma once
#include <det/checkpoint/store.hpp>
#include <det/protocol/record.hpp>

#include <span>
#include <vector>

namespace det::checkpoint {

/// Lists the checkpoints of a run, oldest first: those that the journal reports as committed, whether or not
/// they still exist, and those that the journal reports as begun and that the store has. The second kind
/// exists if the chief was killed between the commit and its report.
///
/// \param journal the records of the run's chief
/// \return an error if the store cannot be read
Result<std::vector<CheckpointCommitted>> checkpoints_of_run(std::span<Record const> journal,
                                                            Store const& store);

}  // namespace det::checkpoint
