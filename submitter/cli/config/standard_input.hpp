#pragma once
#include <det/experiment/load_config.hpp>

#include "session.hpp"

namespace det::cli {

/// If the configuration file is "-", reads standard input in its place; "stdin" is its name in messages.
/// \return codes::document_too_large as for a file; codes::usage if there is no standard input
Status read_config_if_stdin(experiment::ConfigSources& sources, Session& session);

}  // namespace det::cli
