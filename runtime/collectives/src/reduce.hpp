#pragma once
#include <det/foundation/result.hpp>

#include "agreement.hpp"

namespace det::collectives {

/// Combines `values` with `others` into `values`. The left operand is the one from the lower ranks: the order
/// matters for NaN and -0. A mean is combined as a sum, and finish_mean() divides it. `values` and `others`
/// do not overlap.
void combine(DataType type, ReduceOp op, std::span<std::byte> values, std::span<std::byte const> others,
             Side others_are);

/// Divides sums by the number of ranks. Floating point only.
void finish_mean(DataType type, std::span<std::byte> values, int ranks);

}  // namespace det::collectives
