#pragma once
#include <mutex>

#include "state.hpp"

namespace det::tracker::api {

/// Routes that answer with the JSON of a det-submit command. They take `slurm_mutex` while they run.
void add_command_routes(Routes& routes, Sources& sources, std::mutex& slurm_mutex);

}  // namespace det::tracker::api
