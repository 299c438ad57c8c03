#pragma once
#include <mutex>

#include "state.hpp"

namespace det::tracker::api {

/// The list of experiments. Takes `slurm_mutex` while it asks Slurm.
void add_experiment_routes(Routes& routes, Sources& sources, std::mutex& slurm_mutex);

}  // namespace det::tracker::api
