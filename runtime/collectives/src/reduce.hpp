#pragma once
#include <det/foundation/result.hpp>

#include "agreement.hpp"

namespace det::collectives {

/// values = below op above, where `values` is one operand and `others` the other. The order matters for NaN
/// and -0. For mean it computes the sum; finish_mean() divides it. The operands must not overlap.
void combine(DataType type, ReduceOp op, std::span<std::byte> values, std::span<std::byte const> others,
             Side others_are);

/// Divides sums by the number of ranks. For floating-point types only.
void finish_mean(DataType type, std::span<std::byte> values, int ranks);

}  // namespace det::collectives
