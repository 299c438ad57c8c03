#include <fmt/format.h>
#include <limits>

#include "../../conformance/expectation.hpp"
#include "collective_cases.hpp"

namespace det::collectives {
namespace {

using Operation = Status (*)(DistributedContext& context);

template <class T>
Status forget(Result<T> result) {
    if (!result) return std::move(result).error();
    return Ok{};
}

template <Element T, std::size_t count>
Status reduce(DistributedContext& context, ReduceOp op) {
    std::vector<T> values(count, T{1});
    return context.allreduce(std::span<T>(values), op);
}

/// A call, and its name in the error of ranks that differ.
struct Call {
    Operation make;
    std::string_view name;
};

constexpr Call calls[] = {
    {[](DistributedContext& c) { return c.barrier(); }, "barrier()"},
    {[](DistributedContext& c) { return forget(c.gather("x")); }, "gather()"},
    {[](DistributedContext& c) { return forget(c.allgather(std::string(200'000, 'x'))); }, "allgather()"},
    {[](DistributedContext& c) { return forget(c.broadcast(std::string("x"))); },
     "broadcast(an object from rank 0)"},
    {[](DistributedContext& c) { return forget(c.broadcast(std::string("x"), Rank{1})); },
     "broadcast(an object from rank 1)"},
    {[](DistributedContext& c) {
         std::vector<double> values(5);
         return c.broadcast(std::span<double>(values));
     },
     "broadcast(5 float64 from rank 0)"},
    {[](DistributedContext& c) {
         std::vector<double> values(100'000);
         return c.broadcast(std::span<double>(values));
     },
     "broadcast(100000 float64 from rank 0)"},
    {[](DistributedContext& c) { return reduce<float, 8>(c, ReduceOp::sum); }, "allreduce(sum of 8 float32)"},
    {[](DistributedContext& c) { return reduce<float, 8>(c, ReduceOp::max); }, "allreduce(max of 8 float32)"},
    {[](DistributedContext& c) { return reduce<float, 9>(c, ReduceOp::sum); }, "allreduce(sum of 9 float32)"},
    {[](DistributedContext& c) { return reduce<std::int32_t, 8>(c, ReduceOp::sum); },
     "allreduce(sum of 8 int32)"},
    {[](DistributedContext& c) { return reduce<double, 50'000>(c, ReduceOp::mean); },
     "allreduce(mean of 50000 float64)"},
    {[](DistributedContext& c) { return reduce<BFloat16, 8>(c, ReduceOp::sum); },
     "allreduce(sum of 8 bfloat16)"},
};

/// Checks that all ranks have the same error with these words, and that the next operation succeeds.
Status expect_common_error(DistributedContext& context, Status const& result,
                           std::initializer_list<std::string_view> words) {
    DET_TRY(expect(!result, "an error where ranks differ"));
    auto const& message = result.error().message;
    DET_TRY(expect(result.error().code == codes::misuse, fmt::format("misuse, not '{}'", message)));
    for (auto const word : words) {
        DET_TRY(expect(message.find(word) != std::string::npos, fmt::format("'{}' in '{}'", word, message)));
    }
    DET_TRY_ASSIGN(auto const all, context.allgather(message));
    for (auto const& other : all)
        DET_TRY(expect(other == message, fmt::format("'{}' everywhere, not '{}'", message, other)));
    return Ok{};
}

Status a_different_call_of_one_rank_is_named_on_all_ranks(DistributedContext& context, std::uint32_t seed) {
    if (context.size() < 2) return Ok{};
    TestRandom random(seed, 0);  // the same on all ranks
    for (auto const& common : calls) {
        for (auto const& other : calls) {
            if (&common == &other) continue;
            Rank const deviant{static_cast<int>(random() % static_cast<std::uint64_t>(context.size()))};
            auto const result = (context.rank() == deviant ? other : common).make(context);
            DET_TRY(expect_common_error(
                context, result, {fmt::format("rank {} called {}", deviant.value, other.name), common.name}));
        }
    }
    return Ok{};
}

Status different_calls_on_all_ranks_give_one_error(DistributedContext& context, std::uint32_t) {
    if (context.size() < 2) return Ok{};
    auto const& mine = calls[static_cast<std::size_t>(context.rank().value) % std::size(calls)];
    return expect_common_error(context, mine.make(context), {" called ", " and rank "});
}

Status different_part_sizes_give_one_error(DistributedContext& context, std::uint32_t) {
    for (int first_above = 1; first_above < context.size(); ++first_above) {
        auto const result = (context.rank().value < first_above ? calls[0] : calls[7]).make(context);
        DET_TRY(expect_common_error(context, result, {calls[0].name, calls[7].name}));
    }
    return Ok{};
}

Status invalid_arguments_of_one_rank_are_an_error_on_all_ranks(DistributedContext& context, std::uint32_t) {
    Rank const last{context.size() - 1};
    bool const is_last = context.rank() == last;
    std::vector<std::int32_t> values(4);
    Tensor const good = Tensor::of(std::span(values));
    struct Refusal {
        Tensor tensor;
        ReduceOp op;
        std::string_view word;
    };
    Refusal const refusals[] = {
        {good, ReduceOp::mean, "no mean of int32"},
        {{nullptr, 4, DataType::int32}, ReduceOp::sum, "null pointer"},
        {{values.data(), std::numeric_limits<std::size_t>::max() / 2, DataType::float64},
         ReduceOp::sum,
         "do not fit into memory"},
    };
    for (auto const& [tensor, op, word] : refusals) {
        auto const result = is_last ? context.allreduce(tensor, op) : context.allreduce(good, ReduceOp::sum);
        auto const by = context.size() == 1 ? std::string() : fmt::format("rank {}: ", last.value);
        DET_TRY(expect_common_error(context, result, {by, word}));
    }
    return Ok{};
}

Status a_rank_can_refuse_any_call_of_the_others(DistributedContext& context, std::uint32_t) {
    Rank const last{context.size() - 1};
    for (auto const& call : calls) {
        if (context.size() < 2 && &call != &calls[0]) break;
        auto const result =
            context.rank() == last ? context.refuse("its tensor is sparse") : call.make(context);
        auto const by = context.size() == 1 ? std::string() : fmt::format("rank {}: ", last.value);
        DET_TRY(expect_common_error(context, result, {by + "its tensor is sparse"}));
    }
    return Ok{};
}

Status a_root_without_an_output_is_refused(DistributedContext& context, std::uint32_t) {
    std::vector<std::int32_t> values(4);
    auto const in = Tensor::of(std::span(values));
    for (std::size_t const count : {std::size_t{4}, std::size_t{0}}) {
        auto const result = context.reduce(in, {nullptr, count, DataType::int32}, ReduceOp::sum);
        DET_TRY(expect_common_error(context, result, {count == 0 ? "the result is" : "null pointer"}));
    }
    return Ok{};
}

Status an_invalid_root_is_refused(DistributedContext& context, std::uint32_t) {
    for (int const root : {-1, context.size()}) {
        auto const name = fmt::format("rank {} cannot broadcast", root);
        std::vector<double> values(7000);
        DET_TRY(
            expect_common_error(context, forget(context.broadcast(std::string("x"), Rank{root})), {name}));
        DET_TRY(
            expect_common_error(context, context.broadcast(std::span<double>(values), Rank{root}), {name}));
    }
    return Ok{};
}

Status empty_tensors_can_be_reduced_and_broadcast(DistributedContext& context, std::uint32_t) {
    DET_TRY(context.allreduce(std::span<double>(), ReduceOp::mean));
    DET_TRY(context.broadcast(std::span<float>()));
    return context.broadcast(std::span<std::byte>());
}

}  // namespace

std::span<CollectiveCase const> divergence_cases() {
    static constexpr CollectiveCase cases[] = {
        {"a different call of one rank is named on all ranks",
         a_different_call_of_one_rank_is_named_on_all_ranks},
        {"different calls on all ranks give one error", different_calls_on_all_ranks_give_one_error},
        {"different part sizes give one error", different_part_sizes_give_one_error},
        {"invalid arguments of one rank are an error on all ranks",
         invalid_arguments_of_one_rank_are_an_error_on_all_ranks},
        {"a rank can refuse any call of the others", a_rank_can_refuse_any_call_of_the_others},
        {"a root without an output is refused", a_root_without_an_output_is_refused},
        {"an invalid root is refused", an_invalid_root_is_refused},
        {"empty tensors can be reduced and broadcast", empty_tensors_can_be_reduced_and_broadcast},
    };
    return cases;
}

}  // namespace det::collectives
