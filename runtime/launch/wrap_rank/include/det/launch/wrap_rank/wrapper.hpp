#pragma once
#include <det/launch/wrap_rank/arguments.hpp>
#include <det/launch/wrap_rank/relay.hpp>

#include <filesystem>

namespace det::launch::wrap_rank {

/// Does the job: prepares the node where this is a run of ours, gives the command its place in the
/// environment, labels its lines. A task that is wrapped already is run as it is. helper: the det-launch
/// beside us.
Result<CommandEnd> run_wrapped(Job job, Environment environment, std::filesystem::path const& helper,
                               Clock const& clock);

}  // namespace det::launch::wrap_rank
