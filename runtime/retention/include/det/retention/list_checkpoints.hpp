#pragma once
#include <det/checkpoint/store.hpp>
#include <det/protocol/directory_layout.hpp>
#include <det/protocol/record.hpp>
#include <det/retention/gc_policy.hpp>

#include <functional>

namespace det::retention {

/// Total size of the checkpoint's files.
std::uint64_t size_bytes_of(CheckpointCommitted const& committed);

/// How much of a committed checkpoint the store has, by the manifest that it has now: whole, if this manifest
/// names all files that were committed; part, if it lacks some; none, if there is no manifest. The files are
/// not read. Unknown: the store was not asked, does not answer, or has a manifest that must not be used.
enum class Presence { whole, part, none, unknown };

/// A checkpoint that a trial has committed.
struct CommittedCheckpoint {
    std::uint32_t trial = 0;
    std::uint32_t run = 0;
    CheckpointCommitted committed;
    std::optional<double> metric;  // the searcher's metric at that step; empty: no finite value
    Presence presence = Presence::unknown;
};

/// All checkpoints that the trials of an experiment have committed, ordered by trial, run and
/// steps_completed. Among them are those that a run has committed and not reported, if the store has them.
/// After the store has not answered once, the Presence of all further checkpoints is unknown.
/// \param store null: only the journals are read, and Presence is unknown for all checkpoints
/// \return an error if a journal can't be read, or if the store does not answer and a run has begun a
///     checkpoint that it did not report as committed
Result<std::vector<CommittedCheckpoint>> list_committed(ExperimentLayout const& experiment,
                                                        ExperimentSpec const& spec,
                                                        checkpoint::Store const* store);

/// The committed checkpoints without those that the store no longer has. Those with a damaged manifest are
/// among them.
/// \return an error of the store if it does not answer
Result<std::vector<KnownCheckpoint>> list_stored_checkpoints(ExperimentLayout const& experiment,
                                                             ExperimentSpec const& spec,
                                                             checkpoint::Store const& store);

/// The checkpoints that experiments of this root start from (source_checkpoint_uuid).
Result<std::set<std::string>> list_source_checkpoints(RootLayout const& root);

/// A checkpoint that a run has begun but never committed, for example because the run was killed.
struct UncommittedCheckpoint {
    std::string uuid;
    std::uint32_t trial = 0;
    std::uint32_t run = 0;
};

/// The uncommitted checkpoints of an experiment, from its journals, of which the store has files. Checkpoints
/// of the newest run of an unfinished trial are left out, because the run may still write them.
Result<std::vector<UncommittedCheckpoint>> find_uncommitted(
    ExperimentLayout const& experiment, checkpoint::Store const& store,
    std::function<bool(std::uint32_t trial)> const& is_over);

}  // namespace det::retention
