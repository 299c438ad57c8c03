#pragma once
#include <det/foundation/result.hpp>
#include <det/protocol/checkpoint_manifest.hpp>

#include <string>
#include <string_view>

namespace det::checkpoint {

// Checks that every store makes, and errors that they share. Pure.

/// Checks that text is a UUID before it becomes part of a path.
/// \return codes::no_such_checkpoint if the text is not a UUID
Status check_uuid(std::string const& uuid);
/// Parses the text that a store holds as the manifest of checkpoint `uuid`.
/// \return codes::checkpoint_damaged if the text is not a valid manifest of that checkpoint;
///     codes::newer_format if a newer version has written it
Result<CheckpointManifest> read_manifest(std::string const& uuid, std::string_view text);
/// The error (codes::bad_value) for a checkpoint that has a file with the name of the manifest.
Error manifest_name_taken();
/// The error (codes::checkpoint_damaged) with the message "checkpoint <uuid> is damaged: <why>".
Error damaged_error(std::string const& uuid, std::string const& why);
/// The error (codes::checkpoint_replaced) of a checkpoint that is not the one that a journal knows.
Error replaced_error(std::string const& uuid, std::string const& why);
/// The error (codes::checkpoint_not_yours) of a checkpoint that another user owns or can change.
/// \param owner the name of its owner, for the hint; empty: others can change it
Error not_yours_error(std::string const& uuid, std::string const& why, std::string const& owner);

}  // namespace det::checkpoint
