#pragma once
#include <det/checkpoint/store.hpp>
#include <det/protocol/layout.hpp>
#include <det/protocol/record.hpp>
#include <det/retention/gc_policy.hpp>

namespace det::retention {

Result<ExperimentSpec> load_spec(ExperimentLayout const& experiment);

/// Of all its files together.
std::uint64_t size_bytes_of(CheckpointCommitted const& committed);

/// How much of a checkpoint the store has. Unknown: it does not say.
enum class Presence { whole, part, none, unknown };

/// A checkpoint that a trial has committed.
struct CommittedCheckpoint {
    std::uint32_t trial = 0;
    std::uint32_t run = 0;
    CheckpointCommitted committed;
    std::optional<double> metric;  // of the searcher, at that step; nothing: never validated
    Presence presence = Presence::unknown;
};

/// Everything that the trials of an experiment have committed, trial by trial, oldest first. A store that
/// does not answer is asked once. Null: none is asked.
Result<std::vector<CommittedCheckpoint>> list_committed(ExperimentLayout const& experiment,
                                                        ExperimentSpec const& spec,
                                                        checkpoint::Store const* store);

/// Of these what is still there.
Result<std::vector<KnownCheckpoint>> take_inventory(ExperimentLayout const& experiment,
                                                    ExperimentSpec const& spec,
                                                    checkpoint::Store const& store);

/// Checkpoints that experiments of this root were told to start from.
Result<std::set<std::string>> list_warm_starts(RootLayout const& root);

}  // namespace det::retention
