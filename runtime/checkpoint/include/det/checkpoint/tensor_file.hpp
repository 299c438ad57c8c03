#pragma once
#include <det/checkpoint/saver.hpp>
#include <det/checkpoint/store.hpp>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace det::checkpoint {

/// Chooses the tensors of an export. \return the name in the file; nullopt: the tensor is left out
using NameInFile = std::function<std::optional<std::string>(std::string const& name)>;

/// Writes tensors of a checkpoint into one safetensors file, whole, whatever ranks have saved parts of them.
/// Verifies their checksums. The data goes through the page cache of the file and takes no other memory.
/// \param target must not exist. Removed after an error
/// \return codes::name_taken; codes::no_such_file if no tensor is chosen; codes::bad_value if two get the
/// same name; the errors
///     of load()
Status export_tensors(Store const& store, CheckpointManifest const& manifest, NameInFile const& name_in_file,
                      std::filesystem::path const& target);

/// Makes a checkpoint of the tensors of a safetensors file. Holds a copy of the file in memory.
/// \param description of the manifest
/// \return the manifest; codes::bad_value if the file is not a safetensors file, or has a type of elements
///     that checkpoints do not have
Result<CheckpointManifest> import_tensors(Store& store, std::filesystem::path const& source,
                                          SaveDescription const& description);

}  // namespace det::checkpoint
