#pragma once
#include <det/foundation/environment.hpp>
#include <det/foundation/result.hpp>

namespace det::launch {

/// Creates the file of DET_DONE_FILE: the program of this run has finished its work.
Status record_done(Environment const& environment);

}  // namespace det::launch
