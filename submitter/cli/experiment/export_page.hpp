#pragma once
#include <det/foundation/result.hpp>
#include <det/protocol/ids.hpp>

#include <string>

#include "session.hpp"

namespace det::cli {

/// The page of an experiment as an HTML file that needs no server. Brings the index up to date if no tracker
/// runs on this host.
Result<std::string> render_experiment_page(Session& session, ExperimentId id);

}  // namespace det::cli
