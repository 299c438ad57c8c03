#include "reduce.hpp"

#include <array>
#include <cassert>
#include <limits>
#include <type_traits>

namespace det::collectives {
namespace {

/// Integers as unsigned, where overflow wraps.
template <class T>
struct Arithmetic {
    using type = T;
};
template <std::integral T>
struct Arithmetic<T> {
    using type = std::make_unsigned_t<T>;
};

/// One NaN for all: which of two operands' NaNs a sum keeps is up to the compiler, here one and there the
/// other.
template <class T>
T settle(T value) {
    if constexpr (std::floating_point<T>) return value == value ? value : std::numeric_limits<T>::quiet_NaN();
    return value;
}

struct Sum {
    template <class T>
    static T apply(T below, T above) {
        using A = typename Arithmetic<T>::type;
        return settle(static_cast<T>(static_cast<A>(below) + static_cast<A>(above)));
    }
};

struct Product {
    template <class T>
    static T apply(T below, T above) {
        using A = typename Arithmetic<T>::type;
        return settle(static_cast<T>(static_cast<A>(below) * static_cast<A>(above)));
    }
};

struct Minimum {
    template <class T>
    static T apply(T below, T above) {
        bool const above_stays = above < below || above != above;  // a NaN is not equal to itself
        return settle(above_stays ? above : below);
    }
};

struct Maximum {
    template <class T>
    static T apply(T below, T above) {
        bool const above_stays = below < above || above != above;
        return settle(above_stays ? above : below);
    }
};

// __restrict: without it the compiler may not use vector instructions.
template <class T, class Op>
void combine_with_below(void* values, void const* others, std::size_t count) {
    auto* const __restrict above = static_cast<T*>(values);
    auto const* const __restrict below = static_cast<T const*>(others);
    for (std::size_t i = 0; i < count; ++i) above[i] = Op::apply(below[i], above[i]);
}

template <class T, class Op>
void combine_with_above(void* values, void const* others, std::size_t count) {
    auto* const __restrict below = static_cast<T*>(values);
    auto const* const __restrict above = static_cast<T const*>(others);
    for (std::size_t i = 0; i < count; ++i) below[i] = Op::apply(below[i], above[i]);
}

struct Kernel {
    void (*with_below)(void*, void const*, std::size_t);
    void (*with_above)(void*, void const*, std::size_t);
};

template <class T, class Op>
constexpr Kernel kernel{combine_with_below<T, Op>, combine_with_above<T, Op>};

template <class T>
constexpr std::array<Kernel, reduce_ops> kernels_of{kernel<T, Sum>, kernel<T, Sum>, kernel<T, Minimum>,
                                                    kernel<T, Maximum>, kernel<T, Product>};

// In the order of DataType, and within a row of ReduceOp.
constexpr std::array<std::array<Kernel, reduce_ops>, data_types> kernels{
    kernels_of<std::uint8_t>, kernels_of<std::int32_t>, kernels_of<std::int64_t>, kernels_of<float>,
    kernels_of<double>};

template <class T>
void divide(void* data, std::size_t count, int by) {
    auto* const values = static_cast<T*>(data);
    for (std::size_t i = 0; i < count; ++i) values[i] /= static_cast<T>(by);
}

struct TypeTraits {
    std::string_view name;
    std::size_t size_bytes;
    void (*divide)(void*, std::size_t, int);  // floating point has one
};

constexpr std::array<TypeTraits, data_types> types{{{"uint8", 1, nullptr},
                                                    {"int32", 4, nullptr},
                                                    {"int64", 8, nullptr},
                                                    {"float32", 4, divide<float>},
                                                    {"float64", 8, divide<double>}}};
constexpr std::array<std::string_view, reduce_ops> op_names{"sum", "mean", "min", "max", "prod"};

TypeTraits const& traits_of(DataType type) { return types[static_cast<std::size_t>(type)]; }

}  // namespace

std::string_view name_of(DataType type) { return traits_of(type).name; }
std::string_view name_of(ReduceOp op) { return op_names[static_cast<std::size_t>(op)]; }
std::size_t size_of(DataType type) { return traits_of(type).size_bytes; }
bool is_floating(DataType type) { return traits_of(type).divide != nullptr; }

void combine(DataType type, ReduceOp op, std::span<std::byte> values, std::span<std::byte const> others,
             Side others_are) {
    assert(values.size() == others.size());
    auto const& kernel = kernels[static_cast<std::size_t>(type)][static_cast<std::size_t>(op)];
    auto const run = others_are == Side::below ? kernel.with_below : kernel.with_above;
    run(values.data(), others.data(), values.size() / size_of(type));
}

void finish_mean(DataType type, std::span<std::byte> values, int ranks) {
    assert(is_floating(type));
    traits_of(type).divide(values.data(), values.size() / size_of(type), ranks);
}

}  // namespace det::collectives
