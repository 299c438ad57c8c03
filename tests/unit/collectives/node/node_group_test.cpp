#include <det/collectives/node/node_group.hpp>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include "../../../conformance/expectation.hpp"
#include "../../transport/rank_threads.hpp"
#include "../collective_cases.hpp"
#include "check_result.hpp"
#include "node_threads.hpp"

using namespace det;
using namespace det::collectives;
using namespace det::collectives::node;
using transport::check_ranks;

namespace node_group_test {

constexpr Geometry tiny_chunks{
    .small_limit_bytes = 192, .pair_limit_bytes = 192, .chunk_bytes = 64, .chunks_in_flight = 2};
constexpr Geometry tiny_chunks_large_for_two{
    .small_limit_bytes = 192, .pair_limit_bytes = 2112, .chunk_bytes = 64, .chunks_in_flight = 2};

/// Uses all data paths in turn. Some ranks are late in some operations.
Status reduce_much_of_any_size(DistributedContext& context) {
    constexpr std::size_t counts[] = {1, 15, 30, 31, 300, 7000, 40'000, 17, 2048, 65'536, 65'537, 999};
    constexpr int repetitions = 300;
    auto const own = context.rank().value + 1;
    auto const all = context.size() * (context.size() + 1) / 2;
    std::vector<std::int32_t> values;
    for (int i = 0; i < repetitions; ++i) {
        values.assign(counts[static_cast<std::size_t>(i) % std::size(counts)] + static_cast<std::size_t>(i),
                      own * i);
        if (i % 7 == context.rank().value) std::this_thread::yield();
        DET_TRY(context.allreduce(std::span(values), ReduceOp::sum));
        if (i % 11 == 0) DET_TRY(context.barrier());
        auto const right = std::ranges::count(values, all * i);
        DET_TRY(expect(right == std::ssize(values),
                       fmt::format("{} of {} sums, time {}", right, values.size(), i)));
    }
    return Ok{};
}

void run_suite(int ranks, Geometry const& geometry) {
    auto const seed = test_seed();
    BOOST_TEST_CONTEXT(ranks << " ranks, chunks of " << geometry.chunk_bytes) {
        check_ranks(run_node_threads(
            ranks, geometry, [seed](DistributedContext& context) { return run_all_cases(context, seed); }));
    }
}

}  // namespace node_group_test

BOOST_AUTO_TEST_SUITE(node_group_test)

BOOST_AUTO_TEST_CASE(two_to_five_ranks_agree_on_everything) {
    for (int const ranks : {2, 3, 5}) run_suite(ranks, geometry_for(ranks));
}

BOOST_AUTO_TEST_CASE(two_to_five_ranks_agree_when_all_data_goes_in_tiny_chunks) {
    for (int const ranks : {2, 3, 5}) run_suite(ranks, tiny_chunks);
    run_suite(2, tiny_chunks_large_for_two);
}

BOOST_AUTO_TEST_CASE(successive_sums_do_not_see_earlier_data) {
    for (int const ranks : {2, 3})
        check_ranks(run_node_threads(ranks, geometry_for(ranks), reduce_much_of_any_size));
}

BOOST_AUTO_TEST_CASE(a_group_names_the_data_path) {
    check_ranks(run_node_threads(2, geometry_for(2), [](DistributedContext& context) -> Status {
        DET_TRY_ASSIGN(auto const buffer, context.allocate(1 << 20));
        std::vector<float> own(1 << 18);
        auto const way = [&](std::span<float> values, std::size_t count) {
            auto const tensor = Tensor::of(values.first(count));
            return context.algorithm_name({.in = tensor, .out = tensor});
        };
        DET_TRY(expect(way(own, 1) == "shared memory, with the entry", way(own, 1)));
        DET_TRY(expect(way(own, 500) == "shared memory, one copy", way(own, 500)));
        DET_TRY(expect(way(own, own.size()) == "shared memory, pipeline", way(own, own.size())));
        auto const shared = way(buffer.as<float>(), 1 << 18);
        return expect(shared == "shared memory, no copy", shared);
    }));
}

BOOST_AUTO_TEST_SUITE_END()
