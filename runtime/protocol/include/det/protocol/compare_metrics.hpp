#pragma once
#include <cmath>

namespace det {

/// Whether metric `a` is strictly better than `b`. NaN is worse than every number.
inline bool is_better(double a, double b, bool smaller_is_better) {
    if (std::isnan(a)) return false;
    if (std::isnan(b)) return true;
    return smaller_is_better ? a < b : a > b;
}

}  // namespace det
