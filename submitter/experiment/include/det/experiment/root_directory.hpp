#pragma once
#include <det/experiment/context.hpp>
#include <det/foundation/environment.hpp>
#include <det/protocol/directory_layout.hpp>

namespace det::experiment {

/// Finds the directory that holds all experiments: DET_ROOT, else the site's storage_root, else a ~/det that
/// is a root, else det-submit in XDG_DATA_HOME (~/.local/share). Returns an absolute path. The directory need
/// not exist yet. If it exists, it must belong to this user and no other user may be able to write into it;
/// require_trusted_root() checks the directories above it. codes::newer_format if a newer version of
/// det-submit has changed how its files are laid out.
Result<RootLayout> find_root(Environment const& environment);

/// The root that a command shows: the one of another user that the context has, else find_root() of its
/// environment.
Result<RootLayout> find_shown_root(Context const& context);

/// Opens the root of another user for reading. Its files are read by the rules of ForeignTree only while one
/// exists for it.
/// \return codes::unsafe_owner if others than its owner can write it; codes::permission if its owner does not
///     share it; codes::no_such_file; codes::not_a_directory, also for a symbolic link
Result<ForeignRoot> open_foreign_root(std::filesystem::path const& path);

/// The owner of a directory if that is neither this user nor absent.
std::optional<uid_t> find_foreign_owner(std::filesystem::path const& path);

/// Writes the file `format`, which says the version of the layout of the root, unless it is there.
Status record_root_format(RootLayout const& root);

/// Fails with codes::unsafe_owner if the file or directory belongs to another user or others can write it,
/// besides a private group (is_private_group). Succeeds if it does not exist. `what` names it in the message;
/// `advice` is the hint if it belongs to another user.
Status require_private(std::filesystem::path const& path, std::string const& what, std::string const& advice);

/// Returns the part of a job's Slurm comment that identifies this root: a checksum of its path.
std::string root_id(RootLayout const& root);

/// Returns the Slurm comment of the jobs of an experiment: "det:<root_id>/7".
std::string job_comment(RootLayout const& root, ExperimentId id);

}  // namespace det::experiment
