#include <fmt/format.h>

#include "../../conformance/expectation.hpp"
#include "collective_cases.hpp"

namespace det::collectives {
namespace {

/// Random bytes, zeros among them.
std::string draw(std::uint32_t seed, Rank rank, std::size_t size) {
    TestRandom random(seed, rank.value);
    std::string bytes(size, '\0');
    for (auto& byte : bytes) byte = static_cast<char>(random());
    return bytes;
}

/// The size of a rank's value.
using Sizes = std::size_t (*)(std::uint32_t seed, int rank);

constexpr Sizes all_sizes[] = {
    [](std::uint32_t, int) { return std::size_t{0}; },
    [](std::uint32_t, int) { return std::size_t{9}; },
    [](std::uint32_t, int rank) { return static_cast<std::size_t>(rank) * 13; },
    [](std::uint32_t, int rank) { return rank % 2 == 0 ? std::size_t{0} : std::size_t{40'000}; },
    [](std::uint32_t, int rank) { return rank % 3 == 1 ? std::size_t{33'001} : std::size_t{3}; },
    [](std::uint32_t seed, int rank) {
        TestRandom random(seed, 100 + rank);
        return random() % (std::size_t{1} << random() % 15);
    },
};

std::vector<std::string> values_of_all(std::uint32_t seed, int ranks, Sizes size_of) {
    std::vector<std::string> values;
    for (int rank = 0; rank < ranks; ++rank) values.push_back(draw(seed, {rank}, size_of(seed, rank)));
    return values;
}

Status values_of_unequal_size_are_gathered_on_all_ranks(DistributedContext& context, std::uint32_t seed) {
    for (auto const size_of : all_sizes) {
        auto const expected = values_of_all(seed, context.size(), size_of);
        DET_TRY_ASSIGN(auto const all,
                       context.allgather(expected[static_cast<std::size_t>(context.rank().value)]));
        DET_TRY(expect(all == expected, "all values in rank order"));
    }
    return Ok{};
}

Status values_of_unequal_size_are_gathered_on_the_chief(DistributedContext& context, std::uint32_t seed) {
    for (auto const size_of : all_sizes) {
        auto const expected = values_of_all(seed, context.size(), size_of);
        DET_TRY_ASSIGN(auto const all,
                       context.gather(expected[static_cast<std::size_t>(context.rank().value)]));
        DET_TRY(expect(context.is_chief() ? all == expected : all.empty(),
                       "all values in rank order on the chief"));
    }
    return Ok{};
}

Status a_value_of_any_rank_is_broadcast_to_all(DistributedContext& context, std::uint32_t seed) {
    for (int from = 0; from < context.size(); ++from) {
        for (std::size_t const size : {0u, 1u, 63u, 64u, 65u, 112u, 113u, 1000u, 5000u}) {
            auto const expected = draw(seed, {from}, size);
            auto const own =
                context.rank().value == from ? expected : "what the others pass is not looked at";
            DET_TRY_ASSIGN(auto const value, context.broadcast(own, Rank{from}));
            DET_TRY(expect(value == expected, fmt::format("the {} bytes of rank {}", size, from)));
        }
    }
    DET_TRY_ASSIGN(auto const value, context.broadcast(context.is_chief() ? "chief" : ""));
    return expect(value == "chief", "the value of the chief where no rank is named");
}

Status operations_follow_each_other_in_any_order(DistributedContext& context, std::uint32_t seed) {
    TestRandom random(seed, 0);  // the same on all ranks
    for (int i = 0; i < 100; ++i) {
        auto const operation = random() % 4;
        auto const mine = fmt::format("{}.{}", context.rank().value, i);
        if (operation == 0) DET_TRY(context.barrier());
        if (operation == 1) {
            DET_TRY_ASSIGN(auto const all, context.allgather(mine));
            DET_TRY(
                expect(all.back() == fmt::format("{}.{}", context.size() - 1, i), "the value of this round"));
        }
        if (operation == 2) {
            DET_TRY_ASSIGN(auto const value, context.broadcast(mine));
            DET_TRY(expect(value == fmt::format("0.{}", i), "the chief's value of this round"));
        }
        if (operation == 3) {
            DET_TRY_ASSIGN(auto const sum, context.allreduce(std::int32_t{i}, ReduceOp::sum));
            DET_TRY(expect(sum == i * context.size(), "the sum of this round"));
        }
    }
    return Ok{};
}

}  // namespace

std::span<CollectiveCase const> object_cases() {
    static constexpr CollectiveCase cases[] = {
        {"values of unequal size are gathered on all ranks",
         values_of_unequal_size_are_gathered_on_all_ranks},
        {"values of unequal size are gathered on the chief",
         values_of_unequal_size_are_gathered_on_the_chief},
        {"a value of any rank is broadcast to all", a_value_of_any_rank_is_broadcast_to_all},
        {"operations follow each other in any order", operations_follow_each_other_in_any_order},
    };
    return cases;
}

}  // namespace det::collectives
