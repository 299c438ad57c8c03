#pragma once
#include <det/checkpoint/load.hpp>

#include <functional>

namespace det::checkpoint {

/// Cuts tensors into contiguous pieces of at most size_max_bytes, and groups these into states of at most
/// size_max_bytes. A single element is not cut, even if it is larger. Pure.
std::vector<State> cut_into_batches(State const& state, std::uint64_t size_max_bytes);

/// Fills tensors in device memory, batch by batch.
/// \param read fills tensors in host memory
Status load_to_devices(State const& state, LoadOptions const& options,
                       std::function<Status(State const&)> const& read);

}  // namespace det::checkpoint
