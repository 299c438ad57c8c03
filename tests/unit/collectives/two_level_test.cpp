// Ranks on several nodes, as threads: what holds for any ranks holds for them.
#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "../../conformance/expectation.hpp"
#include "communicator.hpp"
#include "several_nodes.hpp"

using namespace det;
using namespace det::collectives;
using transport::Transport;

namespace {

LocalGroup by_messages(int ranks) {
    auto const transports =
        std::make_shared<std::vector<std::unique_ptr<Transport>>>(transport::make_local_group(ranks));
    return [transports](int rank) -> Result<std::unique_ptr<RankGroup>> {
        auto& own = transports->at(static_cast<std::size_t>(rank));
        return std::unique_ptr<RankGroup>(std::make_unique<Communicator>(std::move(own), Tuning{}));
    };
}

}  // namespace

BOOST_AUTO_TEST_SUITE(two_level_test)

BOOST_AUTO_TEST_CASE(ranks_on_several_nodes_agree_on_everything) {
    auto const seed = test_seed();
    for (auto const& shape : {Shape{2, 2}, Shape{3, 1}, Shape{1, 1, 1}, Shape{2, 2, 2}, Shape{1, 3, 2}}) {
        for (auto const& tuning : {Tuning{}, nothing_is_small}) {
            BOOST_TEST_CONTEXT(fmt::format("nodes of {} ranks, small up to {}", fmt::join(shape, ", "),
                                           tuning.small_limit_bytes)) {
                transport::check_ranks(
                    run_nodes(shape, tuning, by_messages,
                              [&](DistributedContext& context) { return run_all_cases(context, seed); }));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(what_is_local_stays_on_the_node) {
    transport::check_ranks(run_nodes({2, 3}, {}, by_messages, [](DistributedContext& context) -> Status {
        DET_TRY_ASSIGN(auto const all, context.allgather_local(std::to_string(context.rank().value)));
        auto const expected = context.cross_rank() == 0 ? std::vector<std::string>{"0", "1"}
                                                        : std::vector<std::string>{"2", "3", "4"};
        return expect(all == expected, "the ranks of the node");
    }));
}

BOOST_AUTO_TEST_CASE(a_context_says_how_it_does_an_operation) {
    transport::check_ranks(run_nodes({2, 2}, {}, by_messages, [](DistributedContext& context) -> Status {
        std::vector<float> values(1 << 20);
        auto const way = [&](Kind kind, std::size_t count) {
            auto const tensor = Tensor::of(std::span(values).first(count));
            return context.algorithm_name({.kind = kind, .in = tensor, .out = tensor, .root = chief});
        };
        DET_TRY(
            expect(way(Kind::allreduce, 1) == "threads, within the agreement; threads, within the agreement",
                   way(Kind::allreduce, 1)));
        DET_TRY(expect(way(Kind::allreduce, values.size()) == "threads, ring; threads, ring",
                       way(Kind::allreduce, values.size())));
        DET_TRY(
            expect(way(Kind::broadcast, values.size()) == "threads, binomial tree; threads, binomial tree",
                   way(Kind::broadcast, values.size())));
        return expect(way(Kind::all_to_all, values.size()) == "threads, pairs",
                      way(Kind::all_to_all, values.size()));
    }));
    BOOST_TEST(DistributedContext::single().algorithm_name({}) == "single rank");
}

BOOST_AUTO_TEST_CASE(ranks_that_do_not_fit_together_are_told_so) {
    auto const results = transport::run_ranks(2, [](auto transport) -> Status {
        Topology const wrong{1, 2, transport->rank().value, 2};  // nobody is the first
        DET_TRY(make_two_level(std::move(transport), make_single_rank(), wrong));
        return Ok{};
    });
    for (auto const& result : results) {
        BOOST_REQUIRE(!result);
        BOOST_TEST(result.error().message == "the local rank of rank 0 is 1: it should be 0");
    }
}

BOOST_AUTO_TEST_SUITE_END()
