#pragma once
#include <det/protocol/experiment_spec.hpp>
#include <det/protocol/record.hpp>

namespace det {

/// The shape that a run had, or has: that of the specification, with the nodes and the slots of a node that
/// the record of its start names. Pure.
TrialShape shape_of_run(ExperimentSpec const& spec, RunStarted const& started);

/// The slots of a run in all, of its record: nullopt if it was not recorded, or the run has none. Pure.
std::optional<std::int64_t> slots_of(RunStarted const& started);

}  // namespace det
