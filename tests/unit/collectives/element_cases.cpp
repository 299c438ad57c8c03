// Cases for operations on tensors other than allreduce and broadcast, for started operations, and for
// allocated memory.
#include <algorithm>
#include <bit>
#include <cmath>
#include <fmt/format.h>

#include "../../conformance/expectation.hpp"
#include "collective_cases.hpp"

namespace det::collectives {
namespace {

using Values = std::vector<std::int32_t>;

constexpr std::size_t part_counts[] = {0, 1, 2, 17, 30, 31, 300, 1025};

/// Element i of the input of `rank`.
std::int32_t element(int rank, std::size_t i) { return static_cast<std::int32_t>(i * 31 + 1) * (rank + 3); }

Values input_of(int rank, std::size_t count) {
    Values values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = element(rank, i);
    return values;
}

Values sum_of_all(int ranks, std::size_t count) {
    Values sums(count);
    for (int rank = 0; rank < ranks; ++rank) {
        for (std::size_t i = 0; i < count; ++i) sums[i] += element(rank, i);
    }
    return sums;
}

Values part_of(Values const& all, int part, std::size_t count) {
    auto const begin = all.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(part) * count);
    return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}

ConstTensor in(Values const& values) { return ConstTensor::of(std::span<std::int32_t const>(values)); }
Tensor out(Values& values) { return Tensor::of(std::span(values)); }

std::size_t whole_of(DistributedContext& context, std::size_t part) {
    return part * static_cast<std::size_t>(context.size());
}

Status an_allreduce_does_not_change_its_input(DistributedContext& context, std::uint32_t) {
    for (auto const count : part_counts) {
        auto const input = input_of(context.rank().value, count);
        Values result(count, -1);
        auto const before = input;
        DET_TRY(context.allreduce(in(input), out(result), ReduceOp::sum));
        DET_TRY(expect(result == sum_of_all(context.size(), count), fmt::format("the sum of {}", count)));
        DET_TRY(expect(input == before, "the input as it was"));
    }
    return Ok{};
}

Status a_reduce_gives_the_result_to_its_root(DistributedContext& context, std::uint32_t) {
    for (int to = 0; to < context.size(); ++to) {
        for (auto const count : part_counts) {
            bool const is_root = context.rank().value == to;
            auto values = input_of(context.rank().value, count);
            auto const expected = is_root ? sum_of_all(context.size(), count) : values;
            DET_TRY(context.reduce(in(values), out(values), ReduceOp::sum, Rank{to}));
            DET_TRY(
                expect(values == expected, fmt::format("{} elements reduced to rank {} alone", count, to)));
        }
    }
    return Ok{};
}

Status a_reduce_scatter_gives_each_rank_its_part(DistributedContext& context, std::uint32_t) {
    for (auto const part : part_counts) {
        auto const whole = whole_of(context, part);
        auto all = input_of(context.rank().value, whole);
        auto const expected = part_of(sum_of_all(context.size(), whole), context.rank().value, part);
        Values result(part, -1);
        DET_TRY(context.reduce_scatter(in(all), out(result), ReduceOp::sum));
        DET_TRY(expect(result == expected, fmt::format("its {} of {}", part, whole)));
        auto const own = static_cast<std::size_t>(context.rank().value) * part;
        DET_TRY(
            context.reduce_scatter(in(all), Tensor::of(std::span(all).subspan(own, part)), ReduceOp::sum));
        DET_TRY(expect(part_of(all, context.rank().value, part) == expected, "the same in place"));
    }
    return Ok{};
}

Status an_allgather_gives_all_parts_to_all_ranks(DistributedContext& context, std::uint32_t) {
    for (auto const part : part_counts) {
        Values expected;
        for (int rank = 0; rank < context.size(); ++rank) {
            auto const theirs = input_of(rank, part);
            expected.insert(expected.end(), theirs.begin(), theirs.end());
        }
        Values all(expected.size(), -1);
        DET_TRY(context.allgather(in(input_of(context.rank().value, part)), out(all)));
        DET_TRY(expect(all == expected, fmt::format("{} elements of each", part)));
        auto in_place = part_of(all, context.rank().value, part);
        all.assign(all.size(), -1);
        auto const own = std::span(all).subspan(static_cast<std::size_t>(context.rank().value) * part, part);
        std::copy(in_place.begin(), in_place.end(), own.begin());
        DET_TRY(context.allgather(Tensor::of(own), out(all)));
        DET_TRY(expect(all == expected, "the same in place"));
    }
    return Ok{};
}

Status an_all_to_all_exchanges_parts_between_all_ranks(DistributedContext& context, std::uint32_t) {
    for (auto const part : part_counts) {
        auto const whole = whole_of(context, part);
        Values expected;
        for (int rank = 0; rank < context.size(); ++rank) {
            auto const theirs = part_of(input_of(rank, whole), context.rank().value, part);
            expected.insert(expected.end(), theirs.begin(), theirs.end());
        }
        auto values = input_of(context.rank().value, whole);
        Values result(whole, -1);
        DET_TRY(context.all_to_all(in(values), out(result)));
        DET_TRY(expect(result == expected, fmt::format("{} elements from each", part)));
        DET_TRY(context.all_to_all(in(values), out(values)));
        DET_TRY(expect(values == expected, "the same in place"));
    }
    return Ok{};
}

double value_of(Float16 half) {
    int const exponent = (half.bits >> 10) & 31, fraction = half.bits & 1023;
    double const magnitude =
        exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
    return half.bits >> 15 ? -magnitude : magnitude;
}
double value_of(BFloat16 brain) {
    return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(brain.bits) << 16));
}

/// The first rank contributes `one` and the others `tiny`, which a sum in half precision would lose.
template <Element T>
Status check_halves(DistributedContext& context, T one, T tiny, ReduceOp op) {
    bool const is_first = context.rank().value == 0;
    for (std::size_t const count : {1u, 40u, 2001u}) {
        std::vector<T> values(count, is_first ? one : tiny);
        DET_TRY(context.allreduce(std::span<T>(values), op));
        auto const exact = value_of(one) + value_of(tiny) * (context.size() - 1);
        auto const expected = op == ReduceOp::mean ? exact / context.size() : exact;
        auto const got = value_of(values.front());
        DET_TRY(expect(std::abs(got - expected) <= value_of(tiny) / 2 + expected / 512,
                       fmt::format("{} of halves near {}, not {}", name_of(op), expected, got)));
        DET_TRY(expect(values == std::vector<T>(count, values.front()), "the same everywhere"));
    }
    return Ok{};
}

Status halves_are_summed_in_single_precision(DistributedContext& context, std::uint32_t) {
    for (auto const op : {ReduceOp::sum, ReduceOp::mean}) {
        DET_TRY(check_halves(context, Float16{0x3c00}, Float16{0x1400}, op));    // 1 and 2^-10
        DET_TRY(check_halves(context, BFloat16{0x3f80}, BFloat16{0x3c00}, op));  // 1 and 2^-7
    }
    return Ok{};
}

Status local_operations_stay_on_the_node(DistributedContext& context, std::uint32_t) {
    auto const mine = fmt::format("{} on {}", context.local_rank(), context.cross_rank());
    std::vector<std::string> expected;
    for (int local = 0; local < context.local_size(); ++local) {
        expected.push_back(fmt::format("{} on {}", local, context.cross_rank()));
    }
    DET_TRY_ASSIGN(auto const all, context.allgather_local(mine));
    DET_TRY(expect(all == expected, "the values of this node's ranks"));
    DET_TRY_ASSIGN(auto const gathered, context.gather_local(mine));
    DET_TRY(expect(context.is_local_chief() ? gathered == expected : gathered.empty(),
                   "them on its chief alone"));
    DET_TRY_ASSIGN(auto const value, context.broadcast_local(mine));
    return expect(value == expected.front(), "what its chief has");
}

Status several_operations_are_in_flight_at_once(DistributedContext& context, std::uint32_t) {
    std::vector<Values> values;
    std::vector<Handle> handles;
    for (auto const count : part_counts) values.push_back(input_of(context.rank().value, count));
    for (auto& each : values) handles.push_back(context.start_allreduce(out(each), ReduceOp::sum));
    DET_TRY_ASSIGN(auto const all,
                   context.allgather(std::to_string(context.rank().value)));  // goes behind them
    DET_TRY(expect(all.back() == std::to_string(context.size() - 1),
                   "an operation behind those that were started"));
    for (auto& handle : handles) {
        DET_TRY_ASSIGN(auto const is_over, handle.test());
        DET_TRY(expect(is_over, "what was started to be over before what was called later"));
        DET_TRY(handle.wait());
        DET_TRY(handle.wait());
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
        DET_TRY(expect(values[i] == sum_of_all(context.size(), part_counts[i]), "sums of what was started"));
    }
    return Ok{};
}

Status a_started_operation_completes_by_calls_of_test(DistributedContext& context, std::uint32_t) {
    for (auto const count : part_counts) {
        auto values = input_of(context.rank().value, count);
        auto handle = context.start_allreduce(out(values), ReduceOp::sum);
        for (bool is_over = false; !is_over;) {
            DET_TRY_ASSIGN(is_over, handle.test());
        }
        DET_TRY(handle.wait());
        DET_TRY(expect(values == sum_of_all(context.size(), count), fmt::format("the sum of {}", count)));
    }
    return Ok{};
}

Status a_started_operation_matches_a_blocking_one_of_another_rank(DistributedContext& context,
                                                                  std::uint32_t) {
    bool const is_starter = context.rank().value % 2 == 0;
    for (auto const count : part_counts) {
        auto first = input_of(context.rank().value, count), second = first;
        if (is_starter) {
            auto handle = context.start_allreduce(out(first), ReduceOp::sum);
            DET_TRY(context.allreduce(out(second), ReduceOp::sum));
            DET_TRY(handle.wait());
        } else {
            DET_TRY(context.allreduce(out(first), ReduceOp::sum));
            DET_TRY(context.start_allreduce(out(second), ReduceOp::sum).wait());
        }
        auto const sums = sum_of_all(context.size(), count);
        DET_TRY(expect(first == sums && second == sums, fmt::format("both sums of {}", count)));
    }
    return Ok{};
}

Status allocated_memory_is_reduced_like_any_other(DistributedContext& context, std::uint32_t) {
    for (auto const count : part_counts) {
        DET_TRY_ASSIGN(auto const buffer, context.allocate(2 * count * sizeof(std::int32_t)));
        auto const values = buffer.as<std::int32_t>().first(count),
                   result = buffer.as<std::int32_t>().subspan(count);
        auto const input = input_of(context.rank().value, count);
        auto const expected = sum_of_all(context.size(), count);
        std::copy(input.begin(), input.end(), values.begin());
        DET_TRY(context.allreduce(Tensor::of(values), Tensor::of(result), ReduceOp::sum));
        DET_TRY(
            expect(Values(result.begin(), result.end()) == expected, fmt::format("the sum of {}", count)));
        DET_TRY(expect(Values(values.begin(), values.end()) == input, "the input as it was"));
        DET_TRY(context.allreduce(values, ReduceOp::sum));
        DET_TRY(expect(Values(values.begin(), values.end()) == expected, "the same in place"));
        // If the memory of one rank is private, other ranks cannot read it.
        auto own = input;
        std::copy(input.begin(), input.end(), values.begin());
        bool const is_first = context.rank().value == 0;
        DET_TRY(context.allreduce(is_first ? std::span<std::int32_t>(own) : values, ReduceOp::sum));
        auto const mixed = is_first ? own : Values(values.begin(), values.end());
        DET_TRY(expect(mixed == expected, "the same where some memory is private"));
    }
    return Ok{};
}

Status memory_released_in_flight_stays_until_its_operation_is_complete(DistributedContext& context,
                                                                       std::uint32_t) {
    if (context.device_copies() != nullptr) return Ok{};  // the context does not own device memory
    for (std::size_t const count : {1u, 300u, 1025u, 100'000u}) {
        DET_TRY_ASSIGN(auto buffer, context.allocate(count * sizeof(std::int32_t)));
        auto const input = input_of(context.rank().value, count);
        std::copy(input.begin(), input.end(), buffer.as<std::int32_t>().begin());
        Values sums(count);
        ConstTensor const values{buffer.bytes().data(), count, DataType::int32};
        auto handle = context.start_allreduce(values, out(sums), ReduceOp::sum);
        if (context.rank().value == 0) buffer = {};
        DET_TRY_ASSIGN(auto const next, context.allocate(count * sizeof(std::int32_t)));
        std::ranges::fill(next.bytes(), std::byte{7});
        DET_TRY(handle.wait());
        DET_TRY(expect(sums == sum_of_all(context.size(), count), fmt::format("the sum of {}", count)));
    }
    return Ok{};
}

Status released_buffers_are_used_again(DistributedContext& context, std::uint32_t seed) {
    TestRandom random(seed, context.rank().value);
    std::vector<Buffer> buffers(8);
    for (int round = 0; round < 50; ++round) {
        auto& buffer = buffers[random() % buffers.size()];
        auto const holds = [&](std::byte wanted) {
            return std::ranges::all_of(buffer.bytes(), [&](std::byte byte) { return byte == wanted; });
        };
        DET_TRY(expect(holds(std::byte{7}), "what was written"));
        DET_TRY_ASSIGN(buffer, context.allocate(random() % 20'000));
        DET_TRY(expect(holds(std::byte{0}), "zeros in new memory"));
        std::ranges::fill(buffer.bytes(), std::byte{7});
    }
    return context.barrier();
}

Status buffers_that_do_not_fit_are_an_error_on_all_ranks(DistributedContext& context, std::uint32_t) {
    Values values(6), room(7);
    auto const result = context.allreduce(in(values), out(room), ReduceOp::sum);
    DET_TRY(expect(!result && result.error().message.find(
                                  "the result is 6 int32, and the output has 7 int32") != std::string::npos,
                   "an error where there is too much room"));
    if (context.size() < 2) return Ok{};
    Values odd(static_cast<std::size_t>(context.size()) * 3 + 1);
    auto const scattered = context.reduce_scatter(in(odd), out(room), ReduceOp::sum);
    return expect(
        !scattered && scattered.error().message.find("cannot be divided among") != std::string::npos,
        "an error where a part is missing");
}

}  // namespace

std::span<CollectiveCase const> element_cases() {
    static constexpr CollectiveCase cases[] = {
        {"an allreduce does not change its input", an_allreduce_does_not_change_its_input},
        {"a reduce gives the result to its root", a_reduce_gives_the_result_to_its_root},
        {"a reduce_scatter gives each rank its part", a_reduce_scatter_gives_each_rank_its_part},
        {"an allgather gives all parts to all ranks", an_allgather_gives_all_parts_to_all_ranks},
        {"an all_to_all exchanges parts between all ranks", an_all_to_all_exchanges_parts_between_all_ranks},
        {"halves are summed in single precision", halves_are_summed_in_single_precision},
        {"local operations stay on the node", local_operations_stay_on_the_node},
        {"several operations are in flight at once", several_operations_are_in_flight_at_once},
        {"memory released in flight stays until its operation is complete",
         memory_released_in_flight_stays_until_its_operation_is_complete},
        {"a started operation matches a blocking one of another rank",
         a_started_operation_matches_a_blocking_one_of_another_rank},
        {"a started operation completes by calls of test", a_started_operation_completes_by_calls_of_test},
        {"allocated memory is reduced like any other", allocated_memory_is_reduced_like_any_other},
        {"released buffers are used again", released_buffers_are_used_again},
        {"buffers that do not fit are an error on all ranks",
         buffers_that_do_not_fit_are_an_error_on_all_ranks},
    };
    return cases;
}

}  // namespace det::collectives
