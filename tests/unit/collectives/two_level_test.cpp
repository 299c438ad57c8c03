// Ranks on several nodes, as threads. They must pass the cases for all ranks.
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "../../conformance/expectation.hpp"
#include "communicator.hpp"
#include "several_nodes.hpp"

using namespace det;
using namespace det::collectives;
using transport::Transport;

namespace two_level_test {

LocalGroup by_messages(int ranks) {
    auto const transports =
        std::make_shared<std::vector<std::unique_ptr<Transport>>>(transport::make_thread_transports(ranks));
    return [transports](int rank) -> Result<std::unique_ptr<RankGroup>> {
        auto& own = transports->at(static_cast<std::size_t>(rank));
        return std::unique_ptr<RankGroup>(std::make_unique<Communicator>(std::move(own), Tuning{}));
    };
}

/// Counts the short messages that a rank sends. Agreements send short messages, the data of a large call is
/// sent in long ones.
class CountingTransport final : public Transport {
public:
    CountingTransport(std::unique_ptr<Transport> inner, std::atomic<int>& count)
        : Transport(inner->rank(), inner->size()), inner_(std::move(inner)), count_(count) {}
    void abandon() noexcept override { inner_->abandon(); }

private:
    struct Wrapped final : transport::Operation {
        explicit Wrapped(transport::Request made) : request(std::move(made)) {}
        Result<bool> test() override { return request.test(); }
        Result<std::size_t> wait() override { return request.finish(); }
        transport::Request request;
    };
    static Result<std::unique_ptr<transport::Operation>> wrap(Result<transport::Request> request) {
        if (!request) return std::move(request).error();
        return std::unique_ptr<transport::Operation>(std::make_unique<Wrapped>(*std::move(request)));
    }
    Result<std::unique_ptr<transport::Operation>> begin_send(Rank to, transport::Tag tag,
                                                             transport::Bytes bytes) override {
        constexpr std::size_t short_bytes = 256;
        if (bytes.size() <= short_bytes) ++count_;
        return wrap(inner_->start_send(to, tag, bytes));
    }
    Result<std::unique_ptr<transport::Operation>> begin_receive(Rank from, transport::Tag tag,
                                                                transport::MutableBytes into) override {
        return wrap(inner_->start_receive(from, tag, into, transport::Fit::at_most));
    }

    std::unique_ptr<Transport> inner_;
    std::atomic<int>& count_;
};

}  // namespace two_level_test

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

BOOST_AUTO_TEST_CASE(local_operations_stay_on_the_node) {
    transport::check_ranks(run_nodes({2, 3}, {}, by_messages, [](DistributedContext& context) -> Status {
        DET_TRY_ASSIGN(auto const all, context.allgather_local(std::to_string(context.rank().value)));
        auto const expected = context.cross_rank() == 0 ? std::vector<std::string>{"0", "1"}
                                                        : std::vector<std::string>{"2", "3", "4"};
        return expect(all == expected, "the ranks of the node");
    }));
}

BOOST_AUTO_TEST_CASE(some_of_the_ranks_have_a_context_of_their_own) {
    for (auto const& shape : {Shape{2, 2}, Shape{1, 3, 2}, Shape{3}}) {
        auto const body = [&](DistributedContext& context) -> Status {
            DET_TRY_ASSIGN(auto local, context.local_ranks());
            DET_TRY_ASSIGN(auto cross, context.cross_ranks());
            int first = 0, of_node = 0, of_cross = 0, nodes = 0;
            for (int node = 0; node < static_cast<int>(shape.size()); ++node) {
                int const ranks = shape[static_cast<std::size_t>(node)];
                for (int rank = 0; node == context.cross_rank() && rank < ranks; ++rank)
                    of_node += first + rank;
                if (shape.size() > 1 && context.local_rank() < ranks) {
                    of_cross += first + context.local_rank();
                    ++nodes;
                }
                first += ranks;
            }
            if (shape.size() == 1) {
                nodes = 1;
                of_cross = context.rank().value;
            }
            DET_TRY(expect(local.size() == context.local_size() && cross.size() == nodes, "their sizes"));
            for (std::size_t const count : {1u, 200'000u}) {
                std::vector<int> all(count, 1), here(count, context.rank().value), there = here;
                DET_TRY(local.allreduce(std::span(here), ReduceOp::sum));
                DET_TRY(context.allreduce(std::span(all), ReduceOp::sum));
                DET_TRY(cross.allreduce(std::span(there), ReduceOp::sum));
                DET_TRY(expect(all.back() == context.size(), "the sum of all ranks"));
                DET_TRY(expect(here.back() == of_node, fmt::format("{} of the node", here.back())));
                DET_TRY(expect(there.back() == of_cross, fmt::format("{} of the nodes", there.back())));
            }
            DET_TRY_ASSIGN(auto const numbers, local.allgather(std::to_string(context.rank().value)));
            return expect(
                numbers[static_cast<std::size_t>(local.rank().value)] == std::to_string(context.rank().value),
                "the order of the local ranks");
        };
        BOOST_TEST_CONTEXT(fmt::format("nodes of {} ranks", fmt::join(shape, ", "))) {
            transport::check_ranks(run_nodes(shape, {}, by_messages, body));
        }
    }
}

BOOST_AUTO_TEST_CASE(errors_among_the_ranks_of_a_node_name_their_numbers_among_all_ranks) {
    transport::check_ranks(run_nodes({2, 2}, {}, by_messages, [](DistributedContext& context) -> Status {
        for (auto const part : {&DistributedContext::local_ranks, &DistributedContext::cross_ranks}) {
            DET_TRY_ASSIGN(auto ranks, (context.*part)());
            DET_TRY(context.barrier());  // leaves its own call as the scope of both groups
            std::vector<float> values(8);
            auto const result =
                ranks.rank() == Rank{0} ? ranks.barrier() : ranks.allreduce(std::span(values), ReduceOp::sum);
            DET_TRY_ASSIGN(auto const members, ranks.allgather(std::to_string(context.rank().value)));
            auto const expected =
                fmt::format("rank {} called barrier() and rank {} called allreduce(sum of 8 float32)",
                            members[0], members[1]);
            DET_TRY(expect(!result && result.error().message.starts_with(expected),
                           result ? "no error" : result.error().message));
        }
        return context.barrier();
    }));
}

BOOST_AUTO_TEST_CASE(a_context_names_the_algorithm_of_an_operation) {
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
        DET_TRY(expect(way(Kind::broadcast, values.size()) == "threads, chain; threads, chain",
                       way(Kind::broadcast, values.size())));
        // The agreement can carry so many elements of float16, but not after their conversion to float32.
        Tensor const halves{values.data(), Tuning{}.small_limit_bytes / 2, DataType::float16};
        for (auto const kind : {Kind::allreduce, Kind::reduce, Kind::reduce_scatter}) {
            auto const name =
                context.algorithm_name({.kind = kind, .in = halves, .out = halves, .root = chief});
            DET_TRY(expect(name.find("within the agreement") == name.npos, name));
        }
        return expect(way(Kind::all_to_all, values.size()) == "threads, pairs",
                      way(Kind::all_to_all, values.size()));
    }));
    BOOST_TEST(DistributedContext::single().algorithm_name({}) == "single rank");
}

BOOST_AUTO_TEST_CASE(a_large_call_agrees_once_between_nodes) {
    constexpr int nodes = 2, ranks_per_node = 2;
    for (auto const kind : {Kind::allreduce, Kind::reduce, Kind::broadcast}) {
        std::atomic<int> count = 0;
        std::vector<LocalGroup> locals;
        for (int node = 0; node < nodes; ++node) locals.push_back(by_messages(ranks_per_node));
        transport::check_ranks(
            transport::run_ranks(nodes * ranks_per_node, [&](std::unique_ptr<Transport> inner) -> Status {
                int const rank = inner->rank().value;
                Topology const topology{rank % ranks_per_node, ranks_per_node, rank / ranks_per_node, nodes};
                DET_TRY_ASSIGN(auto made,
                               locals[static_cast<std::size_t>(topology.cross_rank)](topology.local_rank));
                DET_TRY_ASSIGN(auto group,
                               make_two_level(std::make_unique<CountingTransport>(std::move(inner), count),
                                              std::move(made), topology));
                DET_TRY(group->barrier());
                if (rank == 0) count = 0;
                DET_TRY(group->barrier());  // one short message of each leader
                std::vector<float> values(1 << 20, 1);
                auto const tensor = Tensor::of(std::span(values));
                DET_TRY(group->run({.kind = kind, .in = tensor, .out = tensor, .root = chief}, Ok{}));
                return group->barrier();
            }));
        // Three agreements: two barriers and the call.
        BOOST_TEST(count <= 3 * nodes);
    }
}

BOOST_AUTO_TEST_CASE(topologies_that_do_not_fit_together_are_refused) {
    auto const results = transport::run_ranks(2, [](auto transport) -> Status {
        Topology const wrong{1, 2, transport->rank().value, 2};  // no rank has local rank 0
        DET_TRY(make_two_level(std::move(transport), make_single_rank(), wrong));
        return Ok{};
    });
    for (auto const& result : results) {
        BOOST_REQUIRE(!result);
        BOOST_TEST(result.error().message == "the local rank of rank 0 is 1: it should be 0");
    }
}

BOOST_AUTO_TEST_CASE(segments_of_no_bytes_are_refused) {
    auto const results = transport::run_ranks(1, [](auto transport) -> Status {
        DET_TRY(make_two_level(std::move(transport), make_single_rank(), Topology{}, {.segment_bytes = 0}));
        return Ok{};
    });
    BOOST_REQUIRE(!results.front());
    BOOST_TEST(results.front().error().message == "Tuning::segment_bytes is 0");
}

BOOST_AUTO_TEST_SUITE_END()
