#pragma once
#include <det/foundation/result.hpp>

#include "agreement.hpp"

namespace det::collectives {

/// values = below op above, of which `values` is one and `others` the other: the order matters for NaN and
/// -0. For mean this is the sum; `finish_mean` does the rest. The two do not overlap.
void combine(DataType type, ReduceOp op, std::span<std::byte> values, std::span<std::byte const> others,
             Side others_are);

/// Divides sums by the number of ranks. For floating point.
void finish_mean(DataType type, std::span<std::byte> values, int ranks);

}  // namespace det::collectives
