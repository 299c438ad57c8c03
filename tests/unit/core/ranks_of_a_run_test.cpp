// Ranks of an experiment find each other by its run: processes, without MPI and mpirun.
#include <det/preemption/preempt_channel.hpp>
#include <det/protocol/rank_failure.hpp>
#include <det/protocol/rendezvous_file.hpp>

#include <boost/test/unit_test.hpp>
#include <csignal>

#include "../../conformance/expectation.hpp"
#include "core_support.hpp"
#include "rank_processes.hpp"

using namespace det;
using namespace det::core;

namespace ranks_of_a_run_test {

/// Two nodes of two ranks. Both use one directory here; the names of a node's files differ by its step.
struct Fixture : RunFixture {
    static constexpr int nodes = 2;
    static constexpr int ranks_of_node = 2;
    static constexpr int ranks = nodes * ranks_of_node;

    Fixture() {
        must(write_file(run.rendezvous(), render_rendezvous_file({"a secret"})));
        RendezvousInfo rendezvous{"n[0-1]", "2(x2)", 1};
        rendezvous.network.chief_address = rendezvous.network.address = "127.0.0.1";
        must(write_file(info / info_files::rendezvous, must(render_rendezvous_info(rendezvous))));
    }

    ContextOptions options_of(Rank rank) {
        auto chosen = options();
        auto const set = [&](char const* name, int value) {
            chosen.environment.set(name, std::to_string(value));
        };
        int const node = rank.value / ranks_of_node;
        set("RANK", rank.value);
        set("WORLD_SIZE", ranks);
        set("LOCAL_RANK", rank.value % ranks_of_node);
        set("LOCAL_WORLD_SIZE", ranks_of_node);
        set("GROUP_RANK", node);
        set("GROUP_WORLD_SIZE", nodes);
        set("SLURM_STEP_ID", node);
        return chosen;
    }
};

Status work_together(Context& context, Rank rank, int ranks) {
    auto& all = context.distributed();
    int const expected = ranks * (ranks - 1) / 2;
    DET_TRY_ASSIGN(int const sum, all.allreduce(rank.value, collectives::ReduceOp::sum));
    DET_TRY(expect(sum == expected, "the sum of all ranks"));
    std::vector<float> many(100'003, static_cast<float>(rank.value));
    DET_TRY(all.allreduce(std::span<float>(many), collectives::ReduceOp::sum));
    DET_TRY(expect(many == std::vector<float>(many.size(), static_cast<float>(expected)), "that of many"));
    DET_TRY_ASSIGN(auto const local, all.allgather_local(std::to_string(rank.value)));
    DET_TRY(expect(local.size() == static_cast<std::size_t>(all.local_size()), "the ranks of the node"));
    return expect(local[static_cast<std::size_t>(all.local_rank())] == std::to_string(rank.value),
                  "this rank in its place");
}

}  // namespace ranks_of_a_run_test

BOOST_FIXTURE_TEST_SUITE(ranks_of_a_run_test, Fixture)

BOOST_AUTO_TEST_CASE(ranks_of_several_nodes_work_together_without_mpi) {
    for (auto const* transport : {"tcp", "ucx", ""}) {
        BOOST_TEST_CONTEXT(transport) {
            Fixture of_its_own;
            check_ranks(run_rank_processes(ranks, [&](Rank rank) -> Status {
                auto chosen = of_its_own.options_of(rank);
                chosen.environment.set("DET_TRANSPORT", transport);
                DET_TRY_ASSIGN(auto context, Context::init(chosen));
                DET_TRY(work_together(context, rank, ranks));
                return context.close();
            }));
        }
    }
}

BOOST_AUTO_TEST_CASE(on_one_node_a_rank_keeps_its_number_whatever_its_local_rank_is) {
    constexpr int ranks_here = 2;
    check_ranks(run_rank_processes(ranks_here, [&](Rank rank) -> Status {
        auto chosen = options_of(rank);
        chosen.environment.set("WORLD_SIZE", std::to_string(ranks_here));
        chosen.environment.set("LOCAL_RANK", std::to_string(ranks_here - 1 - rank.value));
        chosen.environment.set("GROUP_WORLD_SIZE", "1");
        DET_TRY_ASSIGN(auto context, Context::init(chosen));
        DET_TRY(expect(context.distributed().rank() == rank, "the rank of the environment"));
        DET_TRY_ASSIGN(auto const numbers, context.distributed().allgather(std::to_string(rank.value)));
        DET_TRY(expect(numbers == std::vector<std::string>{"0", "1"}, "by rank"));
        return context.close();
    }));
}

BOOST_AUTO_TEST_CASE(ranks_with_different_transports_get_an_error) {
    auto const outcomes = run_rank_processes(ranks, [&](Rank rank) -> Status {
        auto chosen = options_of(rank);
        if (rank.value == 2) chosen.environment.set("DET_TRANSPORT", "tcp");
        auto const context = Context::init(chosen);
        DET_TRY(expect(!context, "an error"));
        auto const& message = context.error().message;
        return expect(
            message == (rank.value == 2 ? "DET_TRANSPORT says tcp on rank 2 and nothing on rank 0"
                                        : fmt::format("DET_TRANSPORT says nothing on rank {} and tcp on "
                                                      "rank 2",
                                                      rank.value)),
            message);
    });
    check_ranks(outcomes);
}

BOOST_AUTO_TEST_CASE(ranks_of_several_nodes_stop_at_the_same_step) {
    check_ranks(run_rank_processes(ranks, [&](Rank rank) -> Status {
        DET_TRY_ASSIGN(auto context, Context::init(options_of(rank)));
        int stopped_at = 0;
        for (int step = 1; stopped_at == 0; ++step) {
            constexpr int noticed_at = 50;
            if (rank.value == ranks - 1 && step == noticed_at) raise_notice();
            DET_TRY_ASSIGN(bool const stop, context.preempt().should_preempt());
            if (stop) stopped_at = step;
            // A training step: the ranks in it wait in shared memory and exchange no other messages.
            DET_TRY(context.distributed().allreduce(1.0, collectives::ReduceOp::sum));
        }
        auto& all = context.distributed();
        DET_TRY_ASSIGN(int const first, all.allreduce(stopped_at, collectives::ReduceOp::min));
        DET_TRY(expect(first == stopped_at, "all stop at the same step"));
        return context.close();
    }));
    auto const reported = records();
    BOOST_REQUIRE(reported.size() == 1u);
    auto const* acknowledged = std::get_if<PreemptionAcknowledged>(&reported[0]);
    BOOST_REQUIRE(acknowledged);
    // Only the last rank, on another node than the chief, has got the notice itself.
    BOOST_REQUIRE(acknowledged->noticed.has_value());
    BOOST_TEST((*acknowledged->noticed <= acknowledged->time));
}

BOOST_AUTO_TEST_CASE(in_a_large_job_the_leader_of_each_node_relays_what_the_leaders_agree_on) {
    std::vector<preemption::RankPlacement> placements;
    for (int rank = 0; rank < ranks; ++rank)
        placements.push_back({{rank % ranks_of_node, ranks_of_node, rank / ranks_of_node, nodes}, true});
    for (int noticed = 0; noticed < ranks; ++noticed) {
        Fixture of_its_own;
        check_ranks(run_rank_processes(ranks, [&](Rank rank) -> Status {
            DET_TRY_ASSIGN(auto context, Context::init(of_its_own.options_of(rank)));
            preemption::PreemptChannel channel(context.distributed(),
                                               preemption::plan_routes(placements, rank, 0));
            auto agreement = channel.make_agreement();
            DET_TRY(channel.exchange_first_messages());
            int stopped_at = 0;
            for (int call = 1; stopped_at == 0; ++call) {
                bool const has_notice = rank.value == noticed && call >= 20;
                DET_TRY_ASSIGN(bool const stop, channel.agree(agreement, has_notice));
                if (stop) stopped_at = call;
                DET_TRY(context.distributed().allreduce(1.0, collectives::ReduceOp::sum));
            }
            DET_TRY_ASSIGN(auto const all, context.distributed().allgather(std::to_string(stopped_at)));
            for (auto const& there : all) DET_TRY(expect(there == all.front(), there));
            // The notice of a follower reaches its leader first, one or two calls later.
            bool const is_leader = noticed % ranks_of_node == 0;
            DET_TRY(expect(is_leader ? stopped_at == 22 : stopped_at == 23 || stopped_at == 24, all.front()));
            return context.close();
        }));
    }
}

BOOST_AUTO_TEST_CASE(in_a_large_job_the_only_rank_of_a_node_has_no_followers) {
    constexpr int ranks_here = 3;
    std::vector<preemption::RankPlacement> const placements{
        {{0, 2, 0, nodes}, true}, {{1, 2, 0, nodes}, true}, {{0, 1, 1, nodes}, true}};
    check_ranks(run_rank_processes(ranks_here, [&](Rank rank) -> Status {
        auto chosen = options_of(rank);
        chosen.environment.set("WORLD_SIZE", std::to_string(ranks_here));
        if (rank.value == 2) chosen.environment.set("LOCAL_WORLD_SIZE", "1");
        DET_TRY_ASSIGN(auto context, Context::init(chosen));
        preemption::PreemptChannel channel(context.distributed(),
                                           preemption::plan_routes(placements, rank, 0));
        auto agreement = channel.make_agreement();
        DET_TRY(channel.exchange_first_messages());
        bool has_stopped = false;
        for (int call = 1; !has_stopped; ++call) {
            DET_TRY_ASSIGN(has_stopped, channel.agree(agreement, rank.value == 2 && call >= 20));
            DET_TRY(context.distributed().allreduce(1.0, collectives::ReduceOp::sum));
        }
        return context.close();
    }));
}

BOOST_AUTO_TEST_CASE(in_a_large_job_each_rank_has_few_routes) {
    constexpr int many = 128;
    constexpr int of_node = 8;
    std::vector<preemption::RankPlacement> placements;
    for (int rank = 0; rank < many; ++rank)
        placements.push_back({{rank % of_node, of_node, rank / of_node, many / of_node}, true});
    auto const first = preemption::plan_routes(placements, Rank{8});
    BOOST_TEST(first.targets.size() == 15u);
    BOOST_TEST(first.sources.size() == 15u + of_node);
    BOOST_TEST(first.own == 1u);
    auto const other = preemption::plan_routes(placements, Rank{11});
    BOOST_TEST(other.targets.empty());
    BOOST_REQUIRE(other.sources.size() == 2u);
    BOOST_TEST((other.sources[0].rank == Rank{8}));
    BOOST_TEST((other.sources[0].role == preemption::Agreement::Role::leader));
    BOOST_TEST((other.sources[other.own].rank == Rank{11}));
}

BOOST_AUTO_TEST_CASE(each_rank_that_loses_another_records_that_before_it_gets_the_error) {
    for (int const victim : {0, 1, 2, 3}) {
        Fixture of_its_own;
        auto const file_of = [&](Rank rank) {
            return of_its_own.run_dir / fmt::format("lost-{}", rank.value);
        };
        auto const outcomes = run_rank_processes(ranks, [&](Rank rank) -> Status {
            auto chosen = of_its_own.options_of(rank);
            chosen.environment.set(variables::lost_peer_file, file_of(rank).filename().string());
            DET_TRY_ASSIGN(auto context, Context::init(chosen));
            // The other ranks may still be in an earlier operation than the victim.
            Status last = Ok{};
            for (int calls = 0; last; ++calls) {
                if (rank.value == victim && calls == 3) ::raise(SIGKILL);
                last = context.distributed().barrier();
            }
            DET_TRY_ASSIGN(auto const message, read_file(file_of(rank)));
            // It names the victim, or a rank that ended because of the victim.
            return expect(message.find("lost") != std::string::npos, message);
        });
        for (int rank = 0; rank < ranks; ++rank)
            BOOST_TEST(outcomes[static_cast<std::size_t>(rank)].error_text == "");
        BOOST_TEST(!path_exists(file_of({victim})));
    }
}

BOOST_AUTO_TEST_CASE(a_rank_whose_context_is_closed_does_not_end_because_of_another) {
    auto const outcomes = run_rank_processes(ranks, [&](Rank rank) -> Status {
        auto chosen = options_of(rank);
        auto const file = fmt::format("lost-{}", rank.value);
        chosen.environment.set(variables::lost_peer_file, file);
        DET_TRY_ASSIGN(auto context, Context::init(chosen));
        DET_TRY(context.close());
        DET_TRY(context.distributed().barrier());  // all ranks have returned from close()
        if (rank.value == 0) ::raise(SIGKILL);
        for (Status last = Ok{}; last;) last = context.distributed().barrier();
        return expect(!path_exists(run_dir / file), "no file after rank 0 is lost");
    });
    for (auto const& outcome : outcomes) BOOST_TEST(outcome.error_text == "");
}

BOOST_AUTO_TEST_CASE(an_unknown_transport_is_an_error) {
    check_ranks(run_rank_processes(1, [&](Rank rank) -> Status {
        auto chosen = options_of(rank);
        chosen.environment.set("DET_TRANSPORT", "pigeons");
        auto const context = Context::init(chosen);
        return expect(!context && context.error().message.find("pigeons") != std::string::npos,
                      "it is named");
    }));
}

BOOST_AUTO_TEST_SUITE_END()
