#pragma once
#include <det/foundation/environment.hpp>
#include <det/foundation/result.hpp>

namespace det::launch {

/// Creates the file that DET_DONE_FILE names: it tells the supervisor that the program of this run has
/// finished its work.
Status record_done(Environment const& environment);

}  // namespace det::launch
