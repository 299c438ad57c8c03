#pragma once
#include <det/measure/contender.hpp>
#include <det/measure/row.hpp>

#include <functional>

namespace det::measure {

/// Called on rank 0 with each row.
using Told = std::function<void(Row const& row)>;

/// Measures each operation at each size, alternating ours and `peer` (nullptr: none). Collective. Returns on
/// all ranks the number of wrong elements in our results. Fails if a rank fails.
Result<std::uint64_t> measure_collectives(CollectivesArguments const& arguments,
                                          collectives::DistributedContext& ranks, Contender* peer,
                                          Told const& told);

}  // namespace det::measure
