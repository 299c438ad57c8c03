#include <atomic>
#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include "../../conformance/expectation.hpp"
#include "../transport/rank_threads.hpp"
#include "check_result.hpp"
#include "collective_cases.hpp"

using namespace det;
using namespace det::collectives;
using transport::check_ranks;
using transport::run_ranks;
using transport::ThreadTransportOptions;

namespace distributed_context_test {

using ContextBody = std::function<Status(DistributedContext& context)>;

std::vector<Status> run_contexts(int ranks, ContextBody const& body, Tuning tuning = {},
                                 ThreadTransportOptions options = {}) {
    return run_ranks(
        ranks,
        [&](auto transport) -> Status {
            Topology const topology{transport->rank().value, transport->size()};
            DET_TRY_ASSIGN(auto context, DistributedContext::make(std::move(transport), topology, tuning));
            return body(context);
        },
        options);
}

void run_suite(int ranks, Tuning const& tuning, ThreadTransportOptions options = {}) {
    auto const seed = test_seed();
    BOOST_TEST_CONTEXT(ranks << " ranks, small up to " << tuning.small_limit_bytes << ", segments of "
                             << tuning.segment_bytes) {
        auto const body = [seed](DistributedContext& context) { return run_all_cases(context, seed); };
        check_ranks(run_contexts(ranks, body, tuning, options));
    }
}

}  // namespace distributed_context_test

BOOST_AUTO_TEST_SUITE(distributed_context_test)

BOOST_AUTO_TEST_CASE(one_to_nine_ranks_agree_on_everything) {
    for (int ranks = 1; ranks <= 9; ++ranks) run_suite(ranks, {});
}

BOOST_AUTO_TEST_CASE(one_to_nine_ranks_agree_when_nothing_is_small) {
    for (int ranks = 1; ranks <= 9; ++ranks) run_suite(ranks, nothing_is_small);
}

BOOST_AUTO_TEST_CASE(algorithms_may_change_at_any_size) {
    for (auto const& tuning : tunings()) {
        for (int const ranks : {2, 3, 4}) run_suite(ranks, tuning);
    }
}

BOOST_AUTO_TEST_CASE(every_algorithm_works_for_all_sizes) {
    for (std::size_t i = 0; i < algorithms; ++i) {
        for (int const ranks : {2, 3, 6}) {
            run_suite(
                ranks,
                {.small_limit_bytes = 0, .segment_bytes = 1000, .algorithm = static_cast<Algorithm>(i)});
        }
    }
}

std::atomic<int> explanations = 0;

BOOST_AUTO_TEST_CASE(a_choice_is_explained_once_for_each_size) {
    explanations = 0;
    auto const count = [](std::string const& line) {
        explanations +=
            line ==
            "allreduce of 1.0 MiB over 3 ranks: ring (the fastest from 1.0 MiB on with up to 4 ranks)";
    };
    auto const results = run_contexts(3,
                                      [](DistributedContext& context) -> Status {
                                          std::vector<float> values(std::size_t{256} << 10);
                                          for (int i = 0; i < 3; ++i)
                                              DET_TRY(context.allreduce(std::span(values), ReduceOp::sum));
                                          return Ok{};
                                      },
                                      {.explain = count});
    check_ranks(results);
    BOOST_TEST(explanations == 3);  // one for each rank
}

BOOST_AUTO_TEST_CASE(no_operation_relies_on_buffered_sends) {
    for (int const ranks : {2, 5}) {
        for (auto const& tuning : tunings()) run_suite(ranks, tuning, {.eager_limit_bytes = 0});
    }
}

BOOST_AUTO_TEST_CASE(a_single_rank_needs_no_transport) {
    auto context = DistributedContext::single();
    BOOST_TEST(context.size() == 1);
    BOOST_TEST(context.is_chief());
    BOOST_TEST(context.local_size() == 1);
    BOOST_TEST(context.cross_size() == 1);
    must(run_all_cases(context, test_seed()));
    BOOST_TEST(must(context.gather("only")) == std::vector<std::string>{"only"});
}

BOOST_AUTO_TEST_CASE(no_rank_leaves_a_barrier_before_all_have_entered) {
    for (int const ranks : {2, 3, 4, 7}) {
        std::atomic<int> arrived{0};
        check_ranks(run_contexts(ranks, [&](DistributedContext& context) -> Status {
            for (int round = 1; round <= 20; ++round) {
                ++arrived;
                DET_TRY(context.barrier());
                DET_TRY(expect(arrived >= round * ranks, "all ranks to have arrived"));
                DET_TRY(context.barrier());
            }
            return Ok{};
        }));
    }
}

BOOST_AUTO_TEST_CASE(the_same_sum_has_the_same_bits_from_run_to_run) {
    std::vector<std::string> results;
    for (int run = 0; run < 5; ++run) {
        check_ranks(run_contexts(5, [&](DistributedContext& context) -> Status {
            std::vector<double> values(10'007);
            for (std::size_t i = 0; i < values.size(); ++i) {
                values[i] = 1.0 / (static_cast<double>(i * 7) + context.rank().value + 1);
            }
            DET_TRY(context.allreduce(std::span(values), ReduceOp::sum));
            auto const* bytes = reinterpret_cast<char const*>(values.data());
            if (context.is_chief()) results.emplace_back(bytes, values.size() * sizeof(double));
            return Ok{};
        }));
    }
    for (auto const& result : results) BOOST_TEST((result == results.front()));
}

BOOST_AUTO_TEST_CASE(an_error_names_the_ranks_their_calls_and_the_operation_number) {
    auto const results = run_contexts(3, [](DistributedContext& context) -> Status {
        DET_TRY(context.barrier());
        DET_TRY(context.barrier());
        if (context.rank().value != 2) return context.barrier();
        DET_TRY(context.allreduce(1.0, ReduceOp::mean));
        return Ok{};
    });
    for (auto const& result : results) {
        BOOST_REQUIRE(!result.has_value());
        auto const& message = result.error().message;
        BOOST_TEST(
            message.starts_with("rank 0 called barrier() and rank 2 called allreduce(mean of 1 float64)"));
        BOOST_TEST(message.ends_with("each as its operation 3"));
    }
}

BOOST_AUTO_TEST_CASE(ranks_with_different_tuning_get_an_error) {
    struct {
        Tuning of_last;
        std::string_view words;
    } const cases[] = {
        {{.small_limit_bytes = 65},
         "rank 2 has Tuning {64, 524288, by the table} and rank 3 {65, 524288, by the table}"},
        {{.small_limit_bytes = 64, .algorithm = Algorithm::ring},
         "rank 2 has Tuning {64, 524288, by the table} and rank 3 {64, 524288, ring}"},
    };
    for (auto const& [of_last, words] : cases) {
        auto const results = run_ranks(4, [&](auto transport) -> Status {
            Topology const topology{transport->rank().value, transport->size()};
            auto const tuning = transport->rank().value < 3 ? Tuning{.small_limit_bytes = 64} : of_last;
            DET_TRY_ASSIGN(auto context, DistributedContext::make(std::move(transport), topology, tuning));
            std::vector<double> values(1000);
            return context.allreduce(std::span(values), ReduceOp::sum);
        });
        for (auto const& result : results) {
            BOOST_REQUIRE(!result.has_value());
            BOOST_TEST(result.error().message == words);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_rank_that_leaves_is_an_error_on_those_that_wait_for_it) {
    auto const results = run_contexts(4, [](DistributedContext& context) -> Status {
        DET_TRY(context.barrier());
        if (context.rank().value == 2) context.abandon();
        return context.barrier();
    });
    for (auto const& result : results) {
        BOOST_REQUIRE(!result.has_value());
        BOOST_TEST((result.error().code == codes::transport || result.error().code == codes::misuse));
        BOOST_TEST(result.error().message.ends_with(" was in barrier(), its operation 2"));
    }
}

BOOST_AUTO_TEST_CASE(an_error_names_the_operation_wherever_in_it_a_rank_is_lost) {
    // The second of three ranks leaves at once, while the others are in an operation of several messages.
    using Operation = std::function<Status(DistributedContext&)>;
    struct {
        Operation run;
        std::string_view words;
    } const cases[] = {
        {[](auto& context) -> Status {
             DET_TRY(context.allgather(std::string(100'000, 'x')));
             return Ok{};
         },
         "allgather()"},
        {[](auto& context) -> Status {
             DET_TRY(context.broadcast(std::string("x")));
             return Ok{};
         },
         "broadcast(an object from rank 0)"},
        {[](auto& context) -> Status {
             std::vector<float> many(60'000);
             return context.allreduce(std::span(many), ReduceOp::sum);
         },
         "allreduce(sum of 60000 float32)"},
        {[](auto& context) -> Status {
             std::vector<float> many(60'000), part(20'000);
             return context.reduce_scatter(Tensor::of(std::span(many)), Tensor::of(std::span(part)),
                                           ReduceOp::max);
         },
         "reduce_scatter(max of 60000 float32)"},
    };
    for (auto const& [run, words] : cases) {
        auto const results = run_contexts(3, [&](DistributedContext& context) -> Status {
            if (context.rank().value == 1) context.abandon();
            return run(context);
        });
        for (int const rank : {0, 2}) {
            auto const& result = results[static_cast<std::size_t>(rank)];
            BOOST_REQUIRE(!result.has_value());
            BOOST_TEST((result.error().code == codes::transport));
            BOOST_TEST(result.error().message.ends_with(
                           fmt::format("; rank {} was in {}, its operation 1", rank, words)),
                       result.error().message);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_context_can_be_moved) {
    check_ranks(run_contexts(2, [](DistributedContext& context) -> Status {
        auto moved = std::move(context);
        DET_TRY(moved.barrier());
        context = std::move(moved);
        return context.barrier();
    }));
}

BOOST_AUTO_TEST_SUITE_END()
