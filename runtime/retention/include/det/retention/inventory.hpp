#pragma once
#include <det/checkpoint/store.hpp>
#include <det/protocol/layout.hpp>
#include <det/retention/gc_policy.hpp>

namespace det::retention {

Result<ExperimentSpec> load_spec(ExperimentLayout const& experiment);

/// What the trials of an experiment have committed and is still there, trial by trial, oldest first.
Result<std::vector<KnownCheckpoint>> take_inventory(ExperimentLayout const& experiment,
                                                    ExperimentSpec const& spec,
                                                    checkpoint::Store const& store);

/// Checkpoints that experiments of this root were told to start from.
Result<std::set<std::string>> list_warm_starts(RootLayout const& root);

}  // namespace det::retention
