#pragma once
#include <det/foundation/result.hpp>

#include "agreement.hpp"

namespace det::collectives {

/// values = lower op higher, where one operand is `values` and the other is `others`. The order matters for
/// NaN and -0. A mean is combined as a sum, and finish_mean() divides it. The two do not overlap.
void combine(DataType type, ReduceOp op, std::span<std::byte> values, std::span<std::byte const> others,
             Side others_are);

/// Divides sums by the number of ranks. Floating point only.
void finish_mean(DataType type, std::span<std::byte> values, int ranks);

}  // namespace det::collectives
