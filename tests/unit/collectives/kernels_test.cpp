// Compares the loops over elements, for every instruction set of this processor, with a scalar reference.
#include "kernels/kernels.hpp"

#include <det/collectives/tensor.hpp>

#include <bit>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <limits>
#include <numeric>

#include "../../conformance/expectation.hpp"

using namespace det;
using namespace det::collectives;

namespace kernels_test {

struct InstructionSet {
    std::string_view name;
    Kernels const& kernels;
};

std::vector<InstructionSet> instruction_sets() {
    std::vector<InstructionSet> at_hand{{"baseline", baseline_kernels}};
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2")) at_hand.push_back({"avx2", avx2_kernels});
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq")) {
        at_hand.push_back({"avx512", avx512_kernels});
    }
#endif
    return at_hand;
}

/// A half-precision format. The reference computes with these numbers, not with bit operations.
struct HalfFormat {
    int fraction_bits;
    int exponent_bias;
    std::uint16_t nan;
    int exponent_min() const { return 1 - exponent_bias; }
    int exponent_max() const { return exponent_bias; }
};
constexpr HalfFormat float16{10, 15, 0x7e00}, bfloat16{7, 127, 0x7fc0};

float value_of(HalfFormat const& format, std::uint16_t bits) {
    int const fraction_values = 1 << format.fraction_bits;
    int const exponent = (bits & 0x7fff) >> format.fraction_bits;
    int const fraction = bits & (fraction_values - 1);
    bool const is_special = exponent == format.exponent_max() + format.exponent_bias + 1;
    double magnitude = exponent == 0 ? std::ldexp(fraction, format.exponent_min() - format.fraction_bits)
                                     : std::ldexp(fraction_values + fraction,
                                                  exponent - format.exponent_bias - format.fraction_bits);
    if (is_special) magnitude = fraction == 0 ? HUGE_VAL : std::nan("");
    return static_cast<float>(std::copysign(magnitude, (bits & 0x8000) != 0 ? -1.0 : 1.0));
}

/// Rounds to the nearest half, and to the even one of two that are equally near.
std::uint16_t nearest(HalfFormat const& format, float value) {
    if (std::isnan(value)) return format.nan;
    auto const sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
    double const magnitude = std::abs(static_cast<double>(value));
    int const exponent =
        magnitude == 0 ? format.exponent_min() : std::max(std::ilogb(magnitude), format.exponent_min());
    int const fraction_values = 1 << format.fraction_bits;
    int const infinite = (format.exponent_max() + format.exponent_bias + 1) << format.fraction_bits;
    if (std::isinf(value) || exponent > format.exponent_max())
        return static_cast<std::uint16_t>(sign | infinite);
    auto const steps =
        static_cast<int>(std::nearbyint(std::ldexp(magnitude, format.fraction_bits - exponent)));
    // If the value is rounded up to the next power of two, the fraction carries into the exponent. This may
    // give infinity.
    int const bits = steps < fraction_values ? steps
                                             : ((exponent + format.exponent_bias) << format.fraction_bits) +
                                                   steps - fraction_values;
    return static_cast<std::uint16_t>(sign | bits);
}

template <class T>
struct Plain {
    using Stored = T;
    using Wide = T;
    static Wide widen(T value) { return value; }
    static T narrow(Wide value) { return value; }
};
template <HalfFormat const& format>
struct HalfOf {
    using Stored = std::uint16_t;
    using Wide = float;
    static float widen(std::uint16_t bits) { return value_of(format, bits); }
    static std::uint16_t narrow(float value) { return nearest(format, value); }
};

template <class Wide>
Wide combine(ReduceOp op, Wide below, Wide above) {
    if constexpr (std::is_floating_point_v<Wide>) {
        if (op == ReduceOp::min || op == ReduceOp::max) {
            if (std::isnan(below) || std::isnan(above)) return std::numeric_limits<Wide>::quiet_NaN();
        }
        if (op == ReduceOp::prod) return below * above;
        if (op == ReduceOp::sum || op == ReduceOp::mean) return below + above;
    } else {
        using Unsigned = std::make_unsigned_t<Wide>;
        auto const a = static_cast<Unsigned>(below), b = static_cast<Unsigned>(above);
        if (op == ReduceOp::prod) return static_cast<Wide>(a * b);
        if (op == ReduceOp::sum) return static_cast<Wide>(a + b);
    }
    return op == ReduceOp::min ? (above < below ? above : below) : (below < above ? above : below);
}

template <class Type>
void reference(ReduceOp op, void* out, std::vector<std::byte const*> const& sources, std::size_t count) {
    using Stored = typename Type::Stored;
    using Wide = typename Type::Wide;
    for (std::size_t i = 0; i < count; ++i) {
        auto const at = [&](std::size_t rank) {
            return Type::widen(reinterpret_cast<Stored const*>(sources[rank])[i]);
        };
        Wide value = at(0);
        for (std::size_t rank = 1; rank < sources.size(); ++rank) value = combine(op, value, at(rank));
        if constexpr (std::is_floating_point_v<Wide>) {
            if (op == ReduceOp::mean) value /= static_cast<Wide>(sources.size());
            if (std::isnan(value)) value = std::numeric_limits<Wide>::quiet_NaN();
        }
        static_cast<Stored*>(out)[i] = Type::narrow(value);
    }
}

// In the order of reducible_types.
constexpr void (*references[])(ReduceOp, void*, std::vector<std::byte const*> const&, std::size_t) = {
    reference<Plain<std::uint8_t>>, reference<Plain<std::int32_t>>, reference<Plain<std::int64_t>>,
    reference<Plain<float>>,        reference<Plain<double>>,       reference<HalfOf<float16>>,
    reference<HalfOf<bfloat16>>,
};
static_assert(std::size(references) == reducible_types.size());

/// Random bits, with NaNs, infinities, zeros and subnormal numbers among them.
std::vector<std::byte> any_bits(std::size_t size, TestRandom& random, DataType type) {
    std::vector<std::byte> bytes(size);
    for (auto& byte : bytes) byte = static_cast<std::byte>(random());
    auto const element = size_of(type);
    for (std::size_t begin = 0; begin + element <= size; begin += element) {
        auto const choice = random() % 8;
        if (choice < 2) std::memset(bytes.data() + begin, choice == 0 ? 0 : 0xff, element - 1);
    }
    return bytes;
}

struct Case {
    DataType type;
    ReduceOp op;
    std::size_t ranks;
    std::size_t count;
};

void check_case(InstructionSet const& set, Case const& test, TestRandom& random) {
    auto const element = size_of(test.type);
    auto const size = test.count * element;
    auto const skipped = element * (random() % 16);  // buffers need not be aligned to vectors
    std::vector<std::vector<std::byte>> inputs;
    std::vector<std::byte const*> sources;
    for (std::size_t rank = 0; rank < test.ranks; ++rank) {
        inputs.push_back(any_bits(size + skipped, random, test.type));
        sources.push_back(inputs.back().data() + skipped);
    }
    std::vector<std::byte> expected(size);
    auto const type = reducible_index(test.type), op = static_cast<std::size_t>(test.op);
    references[type](test.op, expected.data(), sources, test.count);
    std::vector<std::byte> result(size);
    set.kernels.reduce[type][op](result.data(), sources.data(), test.ranks, test.count);
    BOOST_TEST((result == expected));
    // In place, in any of the sources.
    auto& own = inputs[random() % test.ranks];
    set.kernels.reduce[type][op](own.data() + skipped, sources.data(), test.ranks, test.count);
    BOOST_TEST(
        std::equal(expected.begin(), expected.end(), own.begin() + static_cast<std::ptrdiff_t>(skipped)));
}

constexpr HalfFormat const* half_formats[] = {&float16, &bfloat16};

std::uint32_t bits_of(float value) {
    return std::bit_cast<std::uint32_t>(std::isnan(value) ? std::numeric_limits<float>::quiet_NaN() : value);
}

}  // namespace kernels_test

BOOST_AUTO_TEST_SUITE(kernels_test)

BOOST_AUTO_TEST_CASE(every_available_instruction_set_gives_the_bits_of_a_scalar_loop) {
    TestRandom random(test_seed(), 0);
    for (auto const& set : instruction_sets()) {
        for (auto const type : reducible_types) {
            for (std::size_t op = 0; op < reduce_ops; ++op) {
                if (set.kernels.reduce[reducible_index(type)][op] == nullptr) continue;
                for (std::size_t const ranks : {2, 3, 6}) {
                    for (std::size_t const count : {0, 1, 7, 64, 67, 511, 512, 1100}) {
                        Case const test{type, static_cast<ReduceOp>(op), ranks, count};
                        BOOST_TEST_CONTEXT(fmt::format("{}: {} of {} {} of {} ranks; DET_TEST_SEED={}",
                                                       set.name, name_of(test.op), count, name_of(test.type),
                                                       ranks, test_seed())) {
                            check_case(set, test, random);
                        }
                    }
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(only_floating_point_has_a_mean) {
    for (auto const& set : instruction_sets()) {
        for (auto const type : reducible_types) {
            auto const& row = set.kernels.reduce[reducible_index(type)];
            bool const has_mean = row[static_cast<std::size_t>(ReduceOp::mean)] != nullptr;
            BOOST_TEST(has_mean == is_floating(type));
        }
    }
}

BOOST_AUTO_TEST_CASE(all_65536_values_of_both_half_types_are_converted_exactly) {
    constexpr std::size_t all = 65'536;
    std::vector<std::uint16_t> halves(all), back(all);
    std::iota(halves.begin(), halves.end(), std::uint16_t{0});
    std::vector<float> wide(all);
    for (auto const& set : instruction_sets()) {
        for (std::size_t kind = 0; kind < std::size(half_formats); ++kind) {
            auto const& format = *half_formats[kind];
            set.kernels.widen[kind](halves.data(), wide.data(), all);
            set.kernels.narrow[kind](wide.data(), back.data(), all);
            std::size_t wrong = 0;
            for (std::size_t i = 0; i < all; ++i) {
                float const expected = value_of(format, halves[i]);
                auto const again = std::isnan(expected) ? format.nan : halves[i];
                wrong += bits_of(wide[i]) != bits_of(expected) || back[i] != again;
            }
            BOOST_TEST(wrong == 0u, set.name << ", kind " << kind);
        }
    }
}

BOOST_AUTO_TEST_CASE(values_between_two_halves_are_rounded_to_the_nearest_even) {
    std::vector<float> values;
    for (auto const* format : half_formats) {
        for (std::uint32_t bits = 0; bits < 65'536; ++bits) {
            float const below = value_of(*format, static_cast<std::uint16_t>(bits));
            float const above = value_of(*format, static_cast<std::uint16_t>(bits + 1));
            if (!std::isfinite(below)) continue;
            float const limit =
                std::ldexp(2 - std::ldexp(1.0F, -format->fraction_bits - 1), format->exponent_max());
            float const middle = std::isfinite(above) ? below / 2 + above / 2 : std::copysign(limit, below);
            for (float const value :
                 {std::nextafter(middle, -HUGE_VALF), middle, std::nextafter(middle, HUGE_VALF)})
                values.push_back(value);
        }
    }
    for (auto const& set : instruction_sets()) {
        for (std::size_t kind = 0; kind < std::size(half_formats); ++kind) {
            std::vector<std::uint16_t> halves(values.size());
            set.kernels.narrow[kind](values.data(), halves.data(), values.size());
            std::size_t wrong = 0;
            for (std::size_t i = 0; i < values.size(); ++i)
                wrong += halves[i] != nearest(*half_formats[kind], values[i]);
            BOOST_TEST(wrong == 0u, set.name << ", kind " << kind);
        }
    }
}

BOOST_AUTO_TEST_CASE(copies_of_any_size_and_alignment_write_exactly_their_bytes) {
    constexpr std::size_t room = 1024;
    std::vector<std::byte> from(room);
    for (std::size_t i = 0; i < room; ++i) from[i] = static_cast<std::byte>(i * 7 + i / 256);
    for (auto const& set : instruction_sets()) {
        for (auto* const copy : {set.kernels.copy, set.kernels.stream}) {
            for (std::size_t size = 0; size < 400; ++size) {
                auto const begin = size * 13 % 64, other = size * 5 % 64;
                alignas(64) std::byte to[room] = {};
                copy(to + begin, from.data() + other, size);
                bool const holds = std::equal(to + begin, to + begin + size, from.data() + other);
                bool const is_clean =
                    std::all_of(to, to + begin, [](auto b) { return b == std::byte{}; }) &&
                    std::all_of(to + begin + size, to + room, [](auto b) { return b == std::byte{}; });
                BOOST_TEST((holds && is_clean), set.name << ", " << size << " bytes");
            }
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
