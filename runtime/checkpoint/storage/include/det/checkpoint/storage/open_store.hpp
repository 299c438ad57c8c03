#pragma once
#include <det/checkpoint/store.hpp>
#include <det/foundation/environment.hpp>
#include <det/protocol/experiment_spec.hpp>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace det::checkpoint::storage {

/// Where the checkpoints of an experiment are, by the type that its configuration names. Nothing is asked of
/// a server yet. codes::not_supported for types that this program has no store of, or no library for.
Result<std::unique_ptr<checkpoint::Store>> open_store(ExperimentSpec const& spec,
                                                      Environment const& environment);

/// Libraries of ours that a program must be able to open for that store, as files of this machine.
std::vector<std::filesystem::path> find_modules(ExperimentSpec const& spec, Environment const& environment);

/// Names the place for comparison: two experiments whose answers are equal keep their checkpoints together.
/// Pure.
std::string place_of(ExperimentSpec const& spec);

}  // namespace det::checkpoint::storage
