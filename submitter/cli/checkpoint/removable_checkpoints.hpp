#pragma once
#include <string>
#include <vector>

#include "checkpoint/checkpoint_files.hpp"

namespace det::cli {

/// The checkpoints that `checkpoint delete` or `rm` names. codes::wrong_state if a trial that may still run
/// would resume from one of them.
Result<std::vector<FoundCheckpoint>> find_removable(std::vector<std::string> const& uuids, Session& session);

/// The error of a command that removes something and was not given --yes.
Error unconfirmed(std::string what);

}  // namespace det::cli
