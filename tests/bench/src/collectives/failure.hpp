#pragma once
#include "../row.hpp"

namespace det::bench {

/// The 99th percentile of the time from kill -9 of a rank until all other ranks have the error, compared with
/// 10 ms.
Row failure_row();

}  // namespace det::bench
