#pragma once
#include <det/measure/contender.hpp>
#include <det/measure/row.hpp>

#include <functional>

namespace det::measure {

/// Given one row after another, on rank 0.
using Told = std::function<void(Row const& row)>;

/// Collective: measures each operation at each size, ours and `peer` (null: none) in turns. An Error where
/// ranks fail; how many elements of our results were wrong, on all ranks.
Result<std::uint64_t> measure_collectives(CollectivesArguments const& arguments,
                                          collectives::DistributedContext& ranks, Contender* peer,
                                          Told const& told);

}  // namespace det::measure
