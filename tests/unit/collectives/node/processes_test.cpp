// Ranks that are processes: how they find each other, and the errors when one of them stops or ends.
#include <det/liveness/wait_recorder.hpp>

#include <boost/test/unit_test.hpp>
#include <thread>

#include "../../../conformance/expectation.hpp"
#include "../collective_cases.hpp"
#include "node_threads.hpp"
#include "rank_processes.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace det::collectives;
using namespace det::collectives::node;
using namespace std::chrono_literals;

namespace node_processes_test {

constexpr int ranks = 3;
constexpr int victim = 1;

struct Fixture {
    SharedMemory memory = must(create_shared_memory(ranks, geometry_for(ranks)));
    RankProcesses processes{ranks};
    Options options{.node_name = "n7", .silence_limit = 1s, .join_timeout = 60s};

    Result<DistributedContext> open(int rank) const { return open_context(memory, rank, ranks, options); }

    /// Checks that all ranks but the victim have the same error, with these words. Returns its message.
    std::string check_errors(std::initializer_list<std::string_view> words) {
        std::string first;
        for (int rank = 0; rank < ranks; ++rank) {
            if (rank == victim) continue;
            auto const& report = processes.wait(rank);
            BOOST_TEST(report.is_error);
            std::string_view const message = report.message;
            for (auto const word : words) {
                BOOST_TEST((message.find(word) != std::string::npos),
                           "'" << word << "' in '" << message << "'");
            }
            if (first.empty()) first = message;
            BOOST_TEST(message == first);
        }
        return first;
    }
};

/// An operation that the ranks repeat until a rank is lost.
struct Phase {
    std::string_view name;
    Status (*run)(DistributedContext& context);
    int may_be_behind = 0;  // a rank does not wait for ranks that are at most this many operations behind it
};

template <std::size_t count>
Status reduce(DistributedContext& context) {
    static std::vector<float> values(count);
    return context.allreduce(std::span(values), ReduceOp::sum);
}

Status reduce_shared(DistributedContext& context) {
    static auto const buffer = context.allocate(std::size_t{1} << 20);
    return context.allreduce(buffer->as<float>(), ReduceOp::sum);
}

Status reduce_by_handle(DistributedContext& context) {
    static std::vector<float> values(100'000);
    auto handle = context.start_allreduce(Tensor::of(std::span(values)), ReduceOp::sum);
    for (bool is_over = false; !is_over;) {
        DET_TRY_ASSIGN(is_over, handle.test());
    }
    return handle.wait();
}

Status gather_objects(DistributedContext& context) {
    DET_TRY(context.allgather(std::string(300'000, 'x')));
    return Ok{};
}

/// Ranks stay in step, at most one call apart, by their flags alone.
Status exchange_flags(DistributedContext& context) {
    static std::uint64_t calls = 0;
    auto& flags = *context.control_channel().flags;
    flags.write(++calls);
    for (int rank = 0; rank < ranks; ++rank) {
        auto const is_enough = [](std::uint64_t value, std::uint64_t call) { return value + 1 >= call; };
        DET_TRY(flags.wait(rank, is_enough, {"exchange_flags()", calls}));
    }
    return Ok{};
}

constexpr Phase phases[] = {
    {"barrier()", [](DistributedContext& context) { return context.barrier(); }},
    {"allreduce(sum of 4 float32)", reduce<4>},
    {"allreduce(sum of 1000 float32)", reduce<1000>},
    // Few chunks: the remaining ranks wait for each other as well as for the lost one.
    {"allreduce(sum of 10000 float32)", reduce<10'000>},
    {"allreduce(sum of 1000000 float32)", reduce<1'000'000>},
    {"allreduce(sum of 262144 float32)", reduce_shared},
    {"allreduce(sum of 100000 float32)", reduce_by_handle},
    {"allgather()", gather_objects},
    {"exchange_flags()", exchange_flags, 1},
};

}  // namespace node_processes_test

BOOST_FIXTURE_TEST_SUITE(node_processes_test, Fixture)

BOOST_AUTO_TEST_CASE(processes_agree_on_everything) {
    auto const seed = test_seed();
    processes.start([&](int rank) -> Status {
        DET_TRY_ASSIGN(auto context, open(rank));
        return run_all_cases(context, seed);
    });
    processes.check();
}

BOOST_AUTO_TEST_CASE(the_page_of_the_node_names_the_rank_that_the_others_wait_for) {
    TemporaryDirectory const directory;
    auto const path = directory / "waits";
    constexpr int rounds = 3;
    constexpr auto late_by = 100ms;
    processes.start([&](int rank) -> Status {
        DET_TRY_ASSIGN(auto page, liveness::WaitPage::open_for_writing(path, rank));
        auto const recorder = std::make_shared<liveness::WaitRecorder>(std::move(page), rank, rank);
        auto recording = options;
        recording.waits.recorder = recorder;
        DET_TRY_ASSIGN(auto context, open_context(memory, rank, ranks, recording));
        context.record_operations(recorder);
        for (int round = 0; round < rounds; ++round) {
            if (rank == victim) std::this_thread::sleep_for(late_by);
            DET_TRY(context.allreduce(rank, ReduceOp::sum));
            DET_TRY(context.allgather("value"));
        }
        return Ok{};
    });
    processes.check();
    auto const page = must(liveness::WaitPage::open_for_reading(path));
    auto const waits = page.read();
    BOOST_REQUIRE(waits.size() == std::size_t{ranks});
    for (auto const& each : waits) {
        BOOST_TEST(each.operations_begun == 2u * rounds);
        auto const waited = each.waited_ns[static_cast<std::size_t>(liveness::WaitOperation::allreduce)];
        std::chrono::nanoseconds const in_allreduce(waited);
        if (each.rank == victim) {
            BOOST_TEST((in_allreduce < late_by));
            continue;
        }
        BOOST_TEST((in_allreduce > rounds * late_by / 2));
        auto const longest = std::ranges::max_element(each.waited_for, {}, &liveness::RankWaits::ForRank::ns);
        BOOST_REQUIRE((longest != each.waited_for.end()));
        BOOST_TEST(longest->rank == victim);
        BOOST_TEST(each.waits_ended >= std::uint64_t{rounds});
    }
}

BOOST_AUTO_TEST_CASE(processes_join_at_a_directory_more_than_once) {
    TemporaryDirectory const directory;
    processes.start([&](int rank) -> Status {
        for (int round = 0; round < 5; ++round) {
            DET_TRY_ASSIGN(auto group, join_at({directory.path(), "ranks.socket", {rank}, ranks}, options));
            DET_TRY_ASSIGN(auto context, DistributedContext::make(std::move(group), {rank, ranks, 0, 1}));
            DET_TRY_ASSIGN(auto const sum, context.allreduce(rank, ReduceOp::sum));
            DET_TRY(expect(sum == ranks * (ranks - 1) / 2, "the sum of the ranks"));
        }
        return Ok{};
    });
    processes.check();
    BOOST_TEST(std::filesystem::is_empty(directory.path()));
}

BOOST_AUTO_TEST_CASE(a_rank_that_does_not_join_is_named) {
    TemporaryDirectory const directory;
    options.join_timeout = 200ms;
    processes.start([&](int rank) -> Status {
        if (rank == victim) return Ok{};
        DET_TRY(join_at({directory.path(), "ranks.socket", {rank}, ranks}, options));
        return Ok{};
    });
    BOOST_TEST(!processes.wait(victim).is_error);
    auto const& host = processes.wait(0);
    BOOST_TEST(host.is_error);
    BOOST_TEST(std::string_view(host.message).starts_with("rank 0 has waited 200 ms for 1 of the others at"));
    BOOST_TEST(processes.wait(2).is_error);
}

BOOST_AUTO_TEST_CASE(a_rank_of_another_size_is_refused_on_both_sides) {
    TemporaryDirectory const directory;
    options.join_timeout = 5s;
    processes.start([&](int rank) -> Status {
        if (rank == 2) return Ok{};
        DET_TRY(join_at({directory.path(), "ranks.socket", {rank}, rank == 0 ? 2 : 3}, options));
        return Ok{};
    });
    for (int const rank : {0, 1}) {
        std::string_view const message = processes.wait(rank).message;
        BOOST_TEST((message.find("it is one of 3 ranks, where rank 0 is one of 2") != std::string::npos),
                   message);
    }
    processes.wait(2);
}

BOOST_AUTO_TEST_CASE(a_killed_rank_is_an_error_on_all_others_in_every_phase) {
    for (auto const& phase : phases) {
        BOOST_TEST_CONTEXT(phase.name) {
            Fixture run;
            run.processes.start([&](int rank) -> Status {
                DET_TRY_ASSIGN(auto context, run.open(rank));
                for (int round = 0;; ++round) {
                    if (rank == victim && round == 20) ::raise(SIGKILL);
                    DET_TRY(phase.run(context));
                }
            });
            run.check_errors({"rank 1 on node n7 (process ", "is lost: its process has ended", phase.name,
                              fmt::format(", its operation {}", 21 + phase.may_be_behind)});
        }
    }
}

BOOST_AUTO_TEST_CASE(a_rank_that_is_killed_in_the_middle_is_an_error_on_all_others) {
    for (auto const& phase : phases) {
        BOOST_TEST_CONTEXT(phase.name) {
            Fixture run;
            run.processes.start([&](int rank) -> Status {
                DET_TRY_ASSIGN(auto context, run.open(rank));
                for (;;) DET_TRY(phase.run(context));
            });
            std::this_thread::sleep_for(30ms);
            run.processes.signal(victim, SIGKILL);
            run.check_errors({"rank 1 on node n7 (process ", "is lost: its process has ended", phase.name});
        }
    }
}

BOOST_AUTO_TEST_CASE(a_stopped_rank_is_an_error_on_all_others) {
    processes.start([&](int rank) -> Status {
        DET_TRY_ASSIGN(auto context, open(rank));
        DET_TRY(context.barrier());
        if (rank == victim) ::raise(SIGSTOP);
        return context.barrier();
    });
    check_errors({"rank 1 on node n7", "it had no heartbeat for 1000 ms", "barrier(), its operation 2"});
}

BOOST_AUTO_TEST_CASE(a_busy_rank_is_awaited_with_a_warning) {
    options.waits.long_wait = 50ms;
    processes.start([&](int rank) -> Status {
        int warnings = 0;
        options.waits.on_long_wait = [&](std::string const& warning) {
            if (warning.find("waits for rank 1 on node n7 in barrier(), its operation 1 for") !=
                std::string::npos)
                ++warnings;
        };
        DET_TRY_ASSIGN(auto context, open(rank));
        // Longer than the silence limit; the heartbeat continues.
        if (rank == victim) std::this_thread::sleep_for(1500ms);
        DET_TRY(context.barrier());
        return expect(warnings == (rank == victim ? 0 : 1), "one warning");
    });
    processes.check();
}

BOOST_AUTO_TEST_CASE(a_requested_timeout_is_an_error_on_all_ranks) {
    options.waits.timeout = 100ms;
    processes.start([&](int rank) -> Status {
        DET_TRY_ASSIGN(auto context, open(rank));
        if (rank == victim) std::this_thread::sleep_for(400ms);
        return context.barrier();
    });
    check_errors({"waits for rank 1 on node n7 in barrier(), its operation 1 for "});
    BOOST_TEST(processes.wait(victim).is_error);
}

BOOST_AUTO_TEST_CASE(the_remaining_ranks_make_a_new_group) {
    auto const smaller = must(create_shared_memory(ranks - 1, geometry_for(ranks - 1)));
    processes.start([&](int rank) -> Status {
        {
            DET_TRY_ASSIGN(auto context, open(rank));
            if (rank == victim) ::raise(SIGKILL);
            DET_TRY(expect(!context.barrier(), "an error"));
            DET_TRY(expect(!context.barrier(), "the same error again"));
        }
        int const new_rank = rank == 0 ? 0 : 1;
        DET_TRY_ASSIGN(auto context, open_context(smaller, new_rank, ranks - 1, options));
        DET_TRY_ASSIGN(auto const sum, context.allreduce(1, ReduceOp::sum));
        return expect(sum == ranks - 1, "a sum over the remaining ranks");
    });
    for (int const rank : {0, 2}) BOOST_TEST(!processes.wait(rank).is_error);
}

BOOST_AUTO_TEST_CASE(ranks_that_do_not_wait_for_a_lost_rank_detect_it_too) {
    processes.start([&](int rank) -> Status {
        DET_TRY_ASSIGN(auto group, map_and_join(memory, Rank{rank}, options));
        DET_TRY(group->check_ranks());
        DET_TRY(group->barrier());
        if (rank == victim) ::raise(SIGKILL);
        auto const limit = std::chrono::steady_clock::now() + 30s;
        Status known = Ok{};
        while (known && std::chrono::steady_clock::now() < limit) known = group->check_ranks();
        group->abandon();
        return known;
    });
    for (int const rank : {0, 2}) {
        auto const& report = processes.wait(rank);
        // A rank that checks late may first notice that another rank has left because of the loss.
        BOOST_TEST(report.is_error);
        BOOST_TEST((std::string_view(report.message).find(" is lost: ") != std::string::npos),
                   report.message);
    }
}

BOOST_AUTO_TEST_CASE(a_relayed_error_keeps_its_code) {
    processes.start([&](int rank) -> Status {
        DET_TRY_ASSIGN(auto group, map_and_join(memory, Rank{rank}, options));
        for (auto const& code : {codes::transport, codes::timed_out, codes::misuse}) {
            Status const refused = rank == victim ? Status(Error{code, "far away"}) : Status(Ok{});
            std::vector<float> values(8);
            TensorCall const call{.in = Tensor::of(std::span(values)), .out = Tensor::of(std::span(values))};
            auto const result = group->run(call, refused);
            DET_TRY(expect(!result && result.error().code == code, "the code of the rank that refused"));
        }
        return group->barrier();
    });
    processes.check();
}

BOOST_AUTO_TEST_CASE(a_rank_may_end_after_it_has_done_its_part) {
    for (int round = 0; round < 20; ++round) {
        Fixture run;
        run.processes.start([&](int rank) -> Status {
            DET_TRY_ASSIGN(auto context, run.open(rank));
            DET_TRY(reduce<100'000>(context));
            DET_TRY(context.barrier());
            return Ok{};
        });
        run.processes.check();
    }
}

BOOST_AUTO_TEST_SUITE_END()
