#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <limits>
#include <random>

#include "../../conformance/expectation.hpp"
#include "collective_cases.hpp"

namespace det::collectives {
namespace {

constexpr ReduceOp all_ops[] = {ReduceOp::sum, ReduceOp::mean, ReduceOp::min, ReduceOp::max, ReduceOp::prod};

/// Draws integers of any value, and floating point values whose results are exact in any order, so that the
/// bits of a serial reference are the only right ones.
template <Element T>
std::vector<T> draw(std::uint32_t seed, Rank rank, ReduceOp op, std::size_t count) {
    TestRandom random(seed, rank.value);
    std::vector<T> values(count);
    for (auto& value : values) {
        auto const bits = random();
        if constexpr (std::integral<T>) {
            value = static_cast<T>(bits);
        } else if (op == ReduceOp::prod) {
            constexpr T factors[] = {1, 2, -1, T{1} / 2, -4};
            value = factors[bits % std::size(factors)];
        } else {
            value = static_cast<T>(static_cast<int>(bits % 2001) - 1000);
        }
    }
    return values;
}

template <Element T>
T wrap(std::uint64_t value) {
    return static_cast<T>(value);
}

template <Element T>
T reduce_two(T a, T b, ReduceOp op) {
    switch (op) {
        case ReduceOp::min:
            return std::min(a, b);
        case ReduceOp::max:
            return std::max(a, b);
        case ReduceOp::prod:
            if constexpr (std::integral<T>)
                return wrap<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
            return static_cast<T>(a * b);
        case ReduceOp::sum:
        case ReduceOp::mean:
            break;
    }
    if constexpr (std::integral<T>)
        return wrap<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
    return static_cast<T>(a + b);
}

template <Element T>
std::vector<T> reference(std::uint32_t seed, int ranks, ReduceOp op, std::size_t count) {
    auto values = draw<T>(seed, {0}, op, count);
    for (int rank = 1; rank < ranks; ++rank) {
        auto const others = draw<T>(seed, {rank}, op, count);
        for (std::size_t i = 0; i < count; ++i) values[i] = reduce_two(values[i], others[i], op);
    }
    if constexpr (std::floating_point<T>) {
        for (auto& value : values) value = op == ReduceOp::mean ? value / static_cast<T>(ranks) : value;
    }
    return values;
}

template <Element T>
Status check_allreduce(DistributedContext& context, std::uint32_t seed, ReduceOp op, std::size_t count) {
    auto values = draw<T>(seed, context.rank(), op, count);
    DET_TRY(context.allreduce(std::span<T>(values), op));
    return expect(
        values == reference<T>(seed, context.size(), op, count),
        fmt::format("{} of {} {} as a serial loop has it", name_of(op), count, name_of(data_type_of<T>())));
}

template <Element T>
Status check_type(DistributedContext& context, std::uint32_t seed) {
    TestRandom random(seed, context.size());
    auto const ranks = static_cast<std::size_t>(context.size());
    for (auto const op : all_ops) {
        if (op == ReduceOp::mean && !is_floating(data_type_of<T>())) continue;
        for (std::size_t const count : {std::size_t{0}, std::size_t{1}, std::size_t{2}, ranks - 1, ranks,
                                        ranks + 1, std::size_t{100}, random() % 700}) {
            DET_TRY(check_allreduce<T>(context, seed + static_cast<std::uint32_t>(count), op, count));
        }
    }
    return Ok{};
}

Status every_reduction_of_every_type_equals_a_serial_loop(DistributedContext& context, std::uint32_t seed) {
    DET_TRY(check_type<std::uint8_t>(context, seed));
    DET_TRY(check_type<std::int32_t>(context, seed));
    DET_TRY(check_type<std::int64_t>(context, seed));
    DET_TRY(check_type<float>(context, seed));
    return check_type<double>(context, seed);
}

/// Draws values of very different magnitudes: another order of summation gives other bits.
template <Element T>
std::vector<T> draw_wild(std::uint32_t seed, Rank rank, std::size_t count) {
    TestRandom random(seed, rank.value);
    std::uniform_real_distribution<T> mantissa(-1, 1);
    std::vector<T> values(count);
    for (auto& value : values) value = std::ldexp(mantissa(random), static_cast<int>(random() % 60) - 30);
    return values;
}

template <Element T>
std::string bits_of(std::vector<T> const& values) {
    std::string bits(values.size() * sizeof(T), '\0');
    if (!values.empty()) std::memcpy(bits.data(), values.data(), bits.size());
    return bits;
}

Status expect_same_everywhere(DistributedContext& context, std::string bits) {
    DET_TRY_ASSIGN(auto const all, context.allgather(bits));
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
        DET_TRY(expect(all[rank] == bits,
                       fmt::format("the bits of rank {} on rank {}", rank, context.rank().value)));
    }
    return Ok{};
}

template <Element T>
Status check_bits(DistributedContext& context, std::uint32_t seed, ReduceOp op, std::size_t count) {
    auto const input = draw_wild<T>(seed, context.rank(), count);
    auto first = input, second = input;
    DET_TRY(context.allreduce(std::span<T>(first), op));
    DET_TRY(context.allreduce(std::span<T>(second), op));
    DET_TRY(expect(bits_of(first) == bits_of(second), "the same bits when it is done again"));
    return expect_same_everywhere(context, bits_of(first));
}

Status floating_point_results_have_the_same_bits_on_all_ranks_and_again(DistributedContext& context,
                                                                        std::uint32_t seed) {
    TestRandom random(seed, context.size());
    for (auto const op : all_ops) {
        for (std::size_t const count : {std::size_t{1}, std::size_t{17}, random() % 900}) {
            DET_TRY(check_bits<float>(context, seed, op, count));
            DET_TRY(check_bits<double>(context, seed, op, count));
        }
    }
    return Ok{};
}

Status sums_are_as_near_as_rounding_allows(DistributedContext& context, std::uint32_t seed) {
    constexpr std::size_t count = 500;
    auto values = draw_wild<double>(seed, context.rank(), count);
    DET_TRY(context.allreduce(std::span<double>(values), ReduceOp::sum));
    std::vector<long double> exact(count), magnitude(count);
    for (int rank = 0; rank < context.size(); ++rank) {
        auto const part = draw_wild<double>(seed, {rank}, count);
        for (std::size_t i = 0; i < count; ++i) {
            exact[i] += part[i];
            magnitude[i] += std::abs(part[i]);
        }
    }
    for (std::size_t i = 0; i < count; ++i) {
        auto const allowed = magnitude[i] * context.size() * std::numeric_limits<double>::epsilon();
        DET_TRY(expect(std::abs(values[i] - exact[i]) <= allowed,
                       fmt::format("element {} near {}", i, double(exact[i]))));
    }
    return Ok{};
}

/// The NaNs of the ranks have different bits. The bits of the result must not depend on the rank.
Status a_nan_anywhere_is_a_nan_everywhere(DistributedContext& context, std::uint32_t) {
    auto const nan =
        std::bit_cast<double>(0x7ff8'0000'0000'0001u + static_cast<std::uint64_t>(context.rank().value));
    for (std::size_t const count : {1u, 40u, 600u}) {
        for (auto const op : all_ops) {
            std::vector<double> all(count, nan), one(count, 1.0);
            if (context.rank().value == context.size() - 1) one.assign(count, nan);
            for (auto* values : {&all, &one}) {
                DET_TRY(context.allreduce(std::span<double>(*values), op));
                for (double const value : *values) DET_TRY(expect(std::isnan(value), "a NaN"));
                DET_TRY(expect_same_everywhere(context, bits_of(*values)));
            }
        }
    }
    return Ok{};
}

Status zeros_of_both_signs_give_the_same_bits_everywhere(DistributedContext& context, std::uint32_t) {
    for (std::size_t const count : {1u, 600u}) {
        for (auto const op : all_ops) {
            std::vector<float> values(count, context.rank().value % 2 == 0 ? 0.0f : -0.0f);
            DET_TRY(context.allreduce(std::span<float>(values), op));
            DET_TRY(expect_same_everywhere(context, bits_of(values)));
        }
    }
    return Ok{};
}

Status a_single_value_is_reduced_to_a_value(DistributedContext& context, std::uint32_t) {
    DET_TRY_ASSIGN(auto const sum, context.allreduce(std::int64_t{context.rank().value}, ReduceOp::sum));
    DET_TRY(expect(sum == context.size() * (context.size() - 1) / 2, "the sum of the ranks"));
    DET_TRY_ASSIGN(auto const any, context.allreduce(std::uint8_t{context.is_chief()}, ReduceOp::max));
    return expect(any == 1, "the or of flags");
}

Status check_broadcast(DistributedContext& context, std::uint32_t seed, Rank from, std::size_t count) {
    auto const expected = draw<std::int32_t>(seed, from, ReduceOp::sum, count);
    auto values = context.rank() == from ? expected : std::vector<std::int32_t>(count, 4711);
    DET_TRY(context.broadcast(std::span<std::int32_t>(values), from));
    DET_TRY(expect(values == expected, fmt::format("{} values of rank {}", count, from.value)));
    auto bytes = context.rank() == from ? expected : std::vector<std::int32_t>(count, 4711);
    DET_TRY(context.broadcast(std::as_writable_bytes(std::span(bytes)), from));
    return expect(bytes == expected, fmt::format("the bytes of {} values of rank {}", count, from.value));
}

Status elements_of_any_rank_are_broadcast_to_all(DistributedContext& context, std::uint32_t seed) {
    for (int from = 0; from < context.size(); ++from) {
        for (std::size_t const count : {0u, 1u, 15u, 16u, 17u, 250u, 2001u}) {
            DET_TRY(check_broadcast(context, seed, {from}, count));
        }
    }
    return Ok{};
}

}  // namespace

std::span<CollectiveCase const> reduction_cases() {
    static constexpr CollectiveCase cases[] = {
        {"every reduction of every type equals a serial loop",
         every_reduction_of_every_type_equals_a_serial_loop},
        {"floating point results have the same bits on all ranks and again",
         floating_point_results_have_the_same_bits_on_all_ranks_and_again},
        {"sums are as near as rounding allows", sums_are_as_near_as_rounding_allows},
        {"a NaN anywhere is a NaN everywhere", a_nan_anywhere_is_a_nan_everywhere},
        {"zeros of both signs give the same bits everywhere",
         zeros_of_both_signs_give_the_same_bits_everywhere},
        {"a single value is reduced to a value", a_single_value_is_reduced_to_a_value},
        {"elements of any rank are broadcast to all", elements_of_any_rank_are_broadcast_to_all},
    };
    return cases;
}

}  // namespace det::collectives
