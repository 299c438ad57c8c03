#pragma once
#include <det/foundation/environment.hpp>
#include <det/foundation/result.hpp>

#include <filesystem>
#include <optional>
#include <string>

namespace det::launch::node {

/// The directory of the files of slurm.stage of this user on this node: stage/ in det-UID, below
/// local_base(). Below a directory that several nodes share it has the node's name.
std::filesystem::path stage_directory(Environment const& environment);

/// Makes det-UID, which only this user can enter. \return stage_directory(), which need not exist;
/// codes::unsafe_owner if another user has the name det-UID
Result<std::filesystem::path> make_stage_directory(Environment const& environment);

/// The directory of the job's files; nullopt if there is none, or if another user has the name det-UID: that
/// user could have put other files there.
std::optional<std::filesystem::path> find_job_stage(Environment const& environment, std::string const& job);

/// Replaces the value that the supervisor has given DET_STAGE by the directory of the job's files. Removes
/// the variable if find_job_stage() finds none.
void use_stage(Environment& environment);

}  // namespace det::launch::node
