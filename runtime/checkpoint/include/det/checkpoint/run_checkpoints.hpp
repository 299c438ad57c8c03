#pragma once
#include <det/checkpoint/store.hpp>
#include <det/protocol/record.hpp>

#include <span>
#include <string>
#include <vector>

namespace det::checkpoint {

/// Lists the checkpoints of a run, ordered by steps_completed: those that the journal reports as committed,
/// whether or not they still exist, and those that the journal reports as begun and whose manifest the store
/// has. The second kind exists if the chief was killed after the commit and before it reported the commit;
/// one with a damaged manifest, or of another user, is left out.
///
/// \param journal the records of the run's chief
/// \return an error if the store cannot be read. The store is asked only for the second kind
Result<std::vector<CheckpointCommitted>> checkpoints_of_run(std::span<Record const> journal,
                                                            Store const& store);

/// Lists the checkpoints of a run by the manifests in the store, ordered by steps_completed: for a run whose
/// journal is damaged. Reads the manifest of each checkpoint in the store; damaged ones, those that a journal
/// knows with another manifest, and those of other users are left out.
/// \param run as in CheckpointManifest::run
/// \return an error if the store cannot be read
Result<std::vector<CheckpointCommitted>> stored_checkpoints_of_run(std::string const& run,
                                                                   Store const& store);

}  // namespace det::checkpoint
