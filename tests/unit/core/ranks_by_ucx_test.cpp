// Ranks of an experiment find each other by its run: processes, without MPI and mpirun.
#include <det/protocol/meeting.hpp>

#include <boost/test/unit_test.hpp>

#include "../../conformance/expectation.hpp"
#include "core_support.hpp"
#include "rank_processes.hpp"

using namespace det;
using namespace det::core;

namespace {

constexpr int ranks = 3;

struct Fixture : RunFixture {
    Fixture() { must(write_file(run.meeting(), render_meeting({"a secret"}))); }

    ContextOptions options_of(Rank rank) {
        auto chosen = options();
        auto const text = std::to_string(ranks);
        for (auto const* name : {"RANK", "LOCAL_RANK"})
            chosen.environment.set(name, std::to_string(rank.value));
        for (auto const* name : {"WORLD_SIZE", "LOCAL_WORLD_SIZE"}) chosen.environment.set(name, text);
        chosen.environment.set("GROUP_RANK", "0");
        chosen.environment.set("GROUP_WORLD_SIZE", "1");
        return chosen;
    }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(ranks_by_ucx_test, Fixture)

BOOST_AUTO_TEST_CASE(ranks_of_a_run_work_together_without_mpi) {
    check_ranks(run_rank_processes(ranks, [&](Rank rank) -> Status {
        auto chosen = options_of(rank);
        chosen.environment.set("DET_TRANSPORT", "ucx");
        DET_TRY_ASSIGN(auto context, Context::init(chosen));
        DET_TRY_ASSIGN(int const sum,
                       context.distributed().allreduce(rank.value, collectives::ReduceOp::sum));
        DET_TRY(expect(sum == ranks * (ranks - 1) / 2, "the sum of all ranks"));
        return context.close();
    }));
}

BOOST_AUTO_TEST_CASE(a_transport_that_there_is_none_of_is_an_error) {
    check_ranks(run_rank_processes(1, [&](Rank rank) -> Status {
        auto chosen = options_of(rank);
        chosen.environment.set("DET_TRANSPORT", "pigeons");
        auto const context = Context::init(chosen);
        return expect(!context && context.error().message.find("pigeons") != std::string::npos,
                      "it is named");
    }));
}

BOOST_AUTO_TEST_SUITE_END()
