#pragma once
#include <det/launch/wrap_rank/arguments.hpp>
#include <det/launch/wrap_rank/relay.hpp>

#include <filesystem>

namespace det::launch::wrap_rank {

/// Enters DET_RUN_DIR if the task belongs to a run, sets the command's environment, and runs it with labelled
/// lines. If the task is already wrapped, its command replaces this process unchanged.
/// \param helper the path of det-launch.
Result<CommandEnd> run_wrapped(WrapRequest request, Environment environment,
                               std::filesystem::path const& helper, Clock const& clock);

}  // namespace det::launch::wrap_rank
