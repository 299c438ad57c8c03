#pragma once
#include <det/checkpoint/load.hpp>

#include <functional>

namespace det::checkpoint {

/// The tensors in pieces that are one after the other in memory and not larger, as states of which none is
/// larger. A single element is not cut. Pure.
std::vector<State> cut_into_batches(State const& state, std::uint64_t size_max_bytes);

/// Fills tensors in memory of a device. `read` fills tensors in memory of the host.
Status load_to_devices(State const& state, LoadOptions const& options,
                       std::function<Status(State const&)> const& read);

}  // namespace det::checkpoint
