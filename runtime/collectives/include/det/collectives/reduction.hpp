#pragma once
#include <det/collectives/tensor.hpp>

#include <vector>

namespace det::collectives {

/// How memory is written: what will be read soon stays in the cache; what is larger than the cache goes past
/// it, which spares reading it first. After streaming call `finish_streaming` before others are told that the
/// data is there.
enum class Store { cached, streaming };

struct Destination {
    std::byte* data;
    Store store = Store::cached;
};

/// All destinations = sources[0] op sources[1] op ..., from left to right: the order of ranks. A mean is
/// divided by the number of sources. A NaN is always the same one. A destination is one of the sources, or
/// overlaps none. One that stays in the cache is best the first. Two sources or more. The result depends on
/// the values alone: it has the same bits on every processor.
void reduce(DataType type, ReduceOp op, std::span<std::byte const* const> sources,
            std::span<Destination const> destinations, std::size_t count);
/// One such loop, for one destination, through the cache.
using Reducer = void (*)(void* out, std::byte const* const* sources, std::size_t ranks, std::size_t count);
Reducer reducer_of(DataType type, ReduceOp op);
/// The same in one call.
void reduce(DataType type, ReduceOp op, std::span<std::byte const* const> sources, std::byte* out,
            std::size_t count);

void copy(std::byte* to, std::byte const* from, std::size_t size_bytes, Store store = Store::cached);
void finish_streaming();

/// float16 and bfloat16, from and to what they are combined as.
bool is_half(DataType type);
void widen(DataType type, std::byte const* from, float* to, std::size_t count);
void narrow(DataType type, float const* from, std::byte* to, std::size_t count);

}  // namespace det::collectives
