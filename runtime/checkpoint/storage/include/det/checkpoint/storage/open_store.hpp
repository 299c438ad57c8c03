#pragma once
#include <det/checkpoint/store.hpp>
#include <det/foundation/environment.hpp>
#include <det/protocol/experiment_spec.hpp>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace det::checkpoint::storage {

/// Makes a store compare manifests with the journals of the experiment and of the runs that they name. Does
/// nothing without a root.
void compare_with_journals(ExperimentSpec const& spec, checkpoint::Store& store);

/// Opens the checkpoint store of an experiment according to its configuration, and calls
/// compare_with_journals(). Does not contact a server yet.
/// \return codes::not_supported for a storage type without a store or without its library. For S3:
///     codes::permission if there are no credentials, codes::misuse if no bucket is named, an error of a file
///     with credentials
Result<std::unique_ptr<checkpoint::Store>> open_store(ExperimentSpec const& spec,
                                                      Environment const& environment);

/// Opens the store that a program names.
/// \param storage the section checkpoint_storage of a configuration. `shared_fs` has a `host_path` and may
///     have a `storage_path`, `directory` has a `container_path`. `s3` may have `access_key` and
///     `secret_key`.
/// \return codes::misuse if a path is missing; errors as above
Result<std::unique_ptr<checkpoint::Store>> open_store(Json const& storage, Environment const& environment);

/// The paths of det-submit's libraries that a program must be able to load to use the experiment's store.
/// Empty if it needs none, or if none was found.
std::vector<std::filesystem::path> store_modules(ExperimentSpec const& spec, Environment const& environment);

/// Identifies the storage location: two experiments with equal results keep their checkpoints in the same
/// place. Empty for a type without a store. Pure.
std::string storage_identity(ExperimentSpec const& spec);

}  // namespace det::checkpoint::storage
