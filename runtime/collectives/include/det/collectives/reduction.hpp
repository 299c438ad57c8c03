#pragma once
#include <det/collectives/tensor.hpp>

#include <vector>

namespace det::collectives {

/// How memory is written. cached: for data that is read soon. streaming: bypasses the cache, for data larger
/// than the cache; this avoids reading the lines first. After streaming, call finish_streaming() before other
/// ranks are notified that the data is complete.
enum class Store { cached, streaming };

struct Destination {
    std::byte* data;
    Store store = Store::cached;
};

/// Writes sources[0] op sources[1] op ... (from left to right, the order of ranks) to each destination. A
/// mean is divided by the number of sources. All NaN results have the same bits. The result depends only on
/// the values: it has the same bits on every processor. Requires at least two sources. A destination is equal
/// to a source or overlaps none. If one destination is cached, it should be the first one.
void reduce(DataType type, ReduceOp op, std::span<std::byte const* const> sources,
            std::span<Destination const> destinations, std::size_t count);
/// A function that reduces elements of one type by one operation to one cached destination.
using Reducer = void (*)(void* out, std::byte const* const* sources, std::size_t ranks, std::size_t count);
Reducer reducer_of(DataType type, ReduceOp op);
/// reduce() with one cached destination.
void reduce(DataType type, ReduceOp op, std::span<std::byte const* const> sources, std::byte* out,
            std::size_t count);

/// The place of received data in a reduction of two operands. below: the received data is the left operand;
/// in most algorithms it comes from lower ranks. above: the received data is the right operand.
enum class Side { below, above };
/// Combines `values` with `others` into `values`. `others` are the left operand if they are below. The order
/// of operands matters only for the minimum and the maximum of 0 and -0. A mean is combined as a sum, and
/// finish_mean() divides it. `values` and `others` do not overlap. Not for float16 and bfloat16, which the
/// caller must widen() first.
void combine(DataType type, ReduceOp op, std::span<std::byte> values, std::span<std::byte const> others,
             Side others_are);
/// Divides sums by the number of ranks. For float32 and float64 only.
void finish_mean(DataType type, std::span<std::byte> values, int ranks);

void copy(std::byte* to, std::byte const* from, std::size_t size_bytes, Store store = Store::cached);
void finish_streaming();

// float16 and bfloat16 are converted to float for reductions, and back.
bool is_half(DataType type);
void widen(DataType type, std::byte const* from, float* to, std::size_t count);
void narrow(DataType type, float const* from, std::byte* to, std::size_t count);

}  // namespace det::collectives
