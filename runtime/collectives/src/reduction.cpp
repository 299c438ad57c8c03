#include <det/collectives/reduction.hpp>
#include <det/foundation/instruction_sets.hpp>

#include <algorithm>
#include <array>
#include <cassert>
#ifdef __SSE2__
#include <immintrin.h>
#else
#include <atomic>
#endif

#include "kernels/kernels.hpp"

namespace det::collectives {
namespace {

static_assert(Kernels::types == reducible_types.size() && Kernels::ops == reduce_ops);

Kernels const& choose_kernels() {
#ifdef __x86_64__
    if (has_instruction_set(InstructionSet::avx512)) return avx512_kernels;
    if (has_instruction_set(InstructionSet::avx2)) return avx2_kernels;
#endif
    return baseline_kernels;
}

Kernels const& kernels() {
    static Kernels const& chosen = choose_kernels();
    return chosen;
}

constexpr std::array<std::string_view, reduce_ops> op_names{"sum", "mean", "min", "max", "prod"};

std::size_t half_index(DataType type) {
    assert(is_half(type));
    return type == DataType::float16 ? 0 : 1;
}

template <class T>
void divide(std::span<std::byte> bytes, int by) {
    auto* const values = reinterpret_cast<T*>(bytes.data());
    for (std::size_t i = 0; i < bytes.size() / sizeof(T); ++i) values[i] /= static_cast<T>(by);
}

}  // namespace

std::string_view name_of(ReduceOp op) { return op_names[static_cast<std::size_t>(op)]; }
bool is_half(DataType type) { return type == DataType::float16 || type == DataType::bfloat16; }

void widen(DataType type, std::byte const* from, float* to, std::size_t count) {
    kernels().widen[half_index(type)](from, to, count);
}

void narrow(DataType type, float const* from, std::byte* to, std::size_t count) {
    kernels().narrow[half_index(type)](from, to, count);
}

void copy(std::byte* to, std::byte const* from, std::size_t size_bytes, Store store) {
    if (to == from || size_bytes == 0) return;
    (store == Store::cached ? kernels().copy : kernels().stream)(to, from, size_bytes);
}

void finish_streaming() {
#ifdef __SSE2__
    _mm_sfence();
#else
    std::atomic_thread_fence(std::memory_order_release);
#endif
}

Reducer reducer_of(DataType type, ReduceOp op) {
    auto const reducer = kernels().reduce[reducible_index(type)][static_cast<std::size_t>(op)];
    assert(reducer != nullptr);
    return reducer;
}

void reduce(DataType type, ReduceOp op, std::span<std::byte const* const> sources, std::byte* out,
            std::size_t count) {
    assert(sources.size() >= 2);
    reducer_of(type, op)(out, sources.data(), sources.size(), count);
}

void reduce(DataType type, ReduceOp op, std::span<std::byte const* const> sources,
            std::span<Destination const> destinations, std::size_t count) {
    bool const begins_cached = !destinations.empty() && destinations.front().store == Store::cached;
    if (destinations.size() == 1 && begins_cached)
        return reduce(type, op, sources, destinations.front().data, count);
    assert(sources.size() >= 2);
    constexpr std::size_t block_bytes =
        2048;  // a block stays in the first-level cache until it is copied to all destinations
    constexpr std::size_t ranks_inline = 64;
    auto const reducer = reducer_of(type, op);
    auto const size = count * size_of(type);
    std::array<std::byte const*, ranks_inline> few;
    std::vector<std::byte const*> many(sources.size() > ranks_inline ? sources.size() : 0);
    auto* const at = many.empty() ? few.data() : many.data();
    alignas(64) std::byte block[block_bytes];
    for (std::size_t begin = 0; begin < size; begin += block_bytes) {
        auto const length = std::min(block_bytes, size - begin);
        for (std::size_t i = 0; i < sources.size(); ++i) at[i] = sources[i] + begin;
        auto* const reduced = begins_cached ? destinations.front().data + begin : block;
        reducer(reduced, at, sources.size(), length / size_of(type));
        for (auto const& destination : destinations)
            copy(destination.data + begin, reduced, length, destination.store);
    }
}

void combine(DataType type, ReduceOp op, std::span<std::byte> values, std::span<std::byte const> others,
             Side others_are) {
    assert(values.size() == others.size() && !is_half(type));
    std::byte const* const below_first[] = {others.data(), values.data()};
    std::byte const* const above_last[] = {values.data(), others.data()};
    auto const sum_for_mean = op == ReduceOp::mean ? ReduceOp::sum : op;
    reducer_of(type, sum_for_mean)(values.data(), others_are == Side::below ? below_first : above_last, 2,
                                   values.size() / size_of(type));
}

void finish_mean(DataType type, std::span<std::byte> values, int ranks) {
    assert(is_floating(type) && !is_half(type));
    (type == DataType::float32 ? divide<float> : divide<double>)(values, ranks);
}

}  // namespace det::collectives
