#pragma once
#include <det/foundation/environment.hpp>
#include <det/foundation/result.hpp>

#include <filesystem>
#include <optional>
#include <string>

namespace det::launch::node {

/// The directory of the files of slurm.stage of this user on this node, which need not exist: stage/ in
/// det-UID, below local_base(). Below a directory that several nodes share it has the node's name. Makes
/// det-UID, which only this user can enter. If another user has the name, it is det-UID-SUFFIX, with a suffix
/// of find_local_suffix() for this node: DET_LOCAL_SUFFIX is another one for each run, and the files stay for
/// later runs. codes::unsafe_owner if there is no suffix, or if that name is taken too.
Result<std::filesystem::path> make_stage_directory(Environment const& environment);

/// The directory of the job's files in one of the two; nullopt if there is none. Looks only where no other
/// user could have put files.
std::optional<std::filesystem::path> find_job_stage(Environment const& environment, std::string const& job);

/// Replaces the value that the supervisor has given DET_STAGE by the directory of the job's files. Removes
/// the variable if find_job_stage() finds none.
void use_stage(Environment& environment);

}  // namespace det::launch::node
