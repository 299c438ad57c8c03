#pragma once
#include <det/checkpoint/store.hpp>
#include <det/protocol/experiment_spec.hpp>

#include <memory>

namespace det::checkpoint {

/// Where the checkpoints of an experiment are, by the type that its configuration names: the one place that
/// knows types. not_supported for those that this program has no store of.
Result<std::unique_ptr<Store>> open_store(ExperimentSpec const& spec);

}  // namespace det::checkpoint
