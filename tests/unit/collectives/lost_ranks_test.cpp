// The errors of the other ranks when a rank is killed during an operation of ranks on two nodes.
#include <det/collectives/distributed_context.hpp>
#include <det/collectives/node/node_group.hpp>
#include <det/collectives/two_level.hpp>
#include <det/transport/tcp/tcp_transport.hpp>

#include <csignal>
#include <thread>

#include "../transport/test_rendezvous.hpp"

using namespace det;
using namespace det::collectives;

namespace lost_ranks_test {

constexpr int nodes = 2, ranks_of_node = 2, ranks = nodes * ranks_of_node;

std::string node_of(int rank) { return fmt::format("n{}", rank / ranks_of_node); }

struct Meet : transport::TestRendezvous {
    Result<std::unique_ptr<transport::Transport>> open_tcp(Rank rank) const {
        DET_TRY_ASSIGN(auto bootstrap, this->bootstrap(rank, ranks));
        DET_TRY_ASSIGN(auto monitor, transport::open_rank_monitor(*bootstrap, {.node = node_of(rank.value)}));
        return transport::tcp::open_transport(std::move(bootstrap),
                                              {.local_ranks = ranks, .monitor = std::move(monitor)});
    }

    Result<DistributedContext> open_two_levels(Rank rank) const {
        Topology const topology{rank.value % ranks_of_node, ranks_of_node, rank.value / ranks_of_node, nodes};
        DET_TRY_ASSIGN(auto transport, open_tcp(rank));
        DET_TRY_ASSIGN(auto node,
                       collectives::node::join_at({path(), fmt::format("{}.socket", node_of(rank.value)),
                                                   Rank{topology.local_rank}, ranks_of_node},
                                                  {.node_name = node_of(rank.value)}));
        std::shared_ptr<RankGroup> const local(std::move(node));
        DET_TRY_ASSIGN(auto all, make_two_level(std::move(transport), local, topology));
        return DistributedContext::make(std::move(all), topology, local);
    }

    Result<DistributedContext> open_messages(Rank rank) const {
        DET_TRY_ASSIGN(auto transport, open_tcp(rank));
        Topology const topology{transport->rank().value, transport->size()};
        return DistributedContext::make(std::move(transport), topology);
    }

    void say(std::string const& word, Rank rank) const {
        static_cast<void>(write_file(path() / fmt::format("{}-{}", word, rank.value), ""));
    }
    /// Blocks until all ranks but the victim have written the file, at most 20 s.
    void wait_for_all(std::string const& word) const {
        auto const until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (std::chrono::steady_clock::now() < until) {
            auto const names = list_directory(path());
            auto const begins = [&](auto const& name) { return name.starts_with(word); };
            if (names && std::ranges::count_if(*names, begins) == ranks - 1) return;
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }
};

Status expect_words(std::string const& message, std::initializer_list<std::string> words) {
    for (auto const& word : words)
        DET_TRY(expect(message.find(word) != std::string::npos, fmt::format("'{}' in '{}'", word, message)));
    return Ok{};
}

using Open = Result<DistributedContext> (Meet::*)(Rank) const;

/// Kills `victim` before the third operation, and checks the errors of the other ranks.
void check_errors_of_others(Open open, int victim, std::size_t count) {
    Meet const meet;
    auto const outcomes = run_rank_processes(ranks, [&](Rank rank) -> Status {
        DET_TRY_ASSIGN(auto context, (meet.*open)(rank));
        std::vector<float> values(count);
        for (int i = 0; i < 2; ++i) DET_TRY(context.allreduce(std::span(values), ReduceOp::sum));
        if (rank.value == victim) {
            meet.wait_for_all("ready");  // data of the second operation may still be in the victim's process
            ::raise(SIGKILL);
        }
        meet.say("ready", rank);
        auto const result = context.allreduce(std::span(values), ReduceOp::max);
        meet.say("seen", rank);
        meet.wait_for_all("seen");  // if a rank ended now, it could be reported as lost instead of the victim
        context.abandon();
        DET_TRY(expect(!result, "an error"));
        return expect_words(result.error().message,
                            {fmt::format("rank {} on ", victim), node_of(victim),
                             fmt::format("in allreduce(max of {} float32), its operation ", count)});
    });
    for (int rank = 0; rank < ranks; ++rank) {
        auto const& outcome = outcomes[static_cast<std::size_t>(rank)];
        BOOST_TEST(outcome.error_text == "", "rank " << rank << ": " << outcome.error_text);
        BOOST_TEST((outcome.signal == SIGKILL) == (rank == victim));
    }
}

}  // namespace lost_ranks_test

BOOST_AUTO_TEST_SUITE(lost_ranks_test)

BOOST_AUTO_TEST_CASE(all_other_ranks_get_the_lost_rank_its_node_and_the_operation) {
    for (int const victim : {1, 2}) {
        for (std::size_t const count : {std::size_t{8}, std::size_t{100'000}}) {
            BOOST_TEST_CONTEXT("rank " << victim << ", " << count << " elements") {
                check_errors_of_others(&Meet::open_messages, victim, count);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(all_other_ranks_of_two_levels_get_the_same_whichever_rank_is_lost) {
    for (int const victim : {1, 2, 3}) {
        for (std::size_t const count : {std::size_t{8}, std::size_t{100'000}}) {
            BOOST_TEST_CONTEXT("rank " << victim << ", " << count << " elements") {
                check_errors_of_others(&Meet::open_two_levels, victim, count);
            }
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
