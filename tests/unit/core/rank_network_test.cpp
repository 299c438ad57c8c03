// Ranks of several nodes find each other outside of a run: processes, without MPI and mpirun.
#include "rank_network.hpp"

#include <det/protocol/rendezvous_file.hpp>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "../../conformance/expectation.hpp"
#include "core_support.hpp"
#include "launch_directory.hpp"
#include "node_address.hpp"
#include "rank_processes.hpp"

using namespace det;
using namespace det::core;

namespace rank_network_test {

/// Two nodes of two ranks on this host. The nodes share one directory; each has its own TMPDIR.
struct Fixture {
    static constexpr int nodes = 2;
    static constexpr int ranks_of_node = 2;
    static constexpr int ranks = nodes * ranks_of_node;

    TemporaryDirectory directory;
    std::filesystem::path shared = directory / "shared";
    std::filesystem::path file =
        shared / fmt::format("det-ranks-{}", ::getuid()) / rendezvous_name("training", "127.0.0.1");

    Fixture() { must(make_directory(shared)); }

    Environment environment() const {
        Environment environment;
        environment.set("DET_RENDEZVOUS_DIR", shared.string());
        environment.set("PATH", "/usr/bin:/bin");
        return environment;
    }
    RankNumbers numbers_of(Rank rank) const {
        return {{rank.value,
                 ranks,
                 {rank.value % ranks_of_node, ranks_of_node, rank.value / ranks_of_node, nodes}},
                "training",
                "127.0.0.1"};
    }
    ContextOptions options_of(Rank rank, std::string const& transport = "") const {
        ContextOptions options{environment(), directory / "checkpoints"};
        auto const node = directory / fmt::format("node-{}", rank.value / ranks_of_node);
        (void)make_directory(node);
        options.environment.set("TMPDIR", node.string());
        if (!transport.empty()) options.environment.set("DET_TRANSPORT", transport);
        return options;
    }
    std::vector<RankOutcome> run_ranks(std::string const& transport = "", int rounds = 1) const {
        return run_rank_processes(ranks, [&](Rank rank) -> Status {
            for (int round = 0; round < rounds; ++round) DET_TRY(work_together(rank, transport));
            return Ok{};
        });
    }

private:
    Status work_together(Rank rank, std::string const& transport) const {
        DET_TRY_ASSIGN(auto context, Context::connect(numbers_of(rank), options_of(rank, transport)));
        auto& all = context.distributed();
        DET_TRY_ASSIGN(auto const names, all.allgather(std::to_string(rank.value)));
        DET_TRY(expect(names == std::vector<std::string>{"0", "1", "2", "3"}, "all ranks in their order"));
        DET_TRY_ASSIGN(auto const local, all.allgather_local(std::to_string(rank.value)));
        auto const expected = rank.value < ranks_of_node ? std::vector<std::string>{"0", "1"}
                                                         : std::vector<std::string>{"2", "3"};
        DET_TRY(expect(local == expected, "the ranks of the node"));
        DET_TRY(expect(!path_exists(file), "no file after the ranks have met"));
        DET_TRY_ASSIGN(int const sum, all.allreduce(rank.value, collectives::ReduceOp::sum));
        DET_TRY(expect(sum == 6, "the sum of all ranks"));
        return context.close();
    }
};

}  // namespace rank_network_test

BOOST_FIXTURE_TEST_SUITE(rank_network_test, Fixture)

BOOST_AUTO_TEST_CASE(ranks_of_several_nodes_meet_outside_of_a_run) {
    check_ranks(run_ranks("", 3));  // three groups with the same name, one after the other
    check_ranks(run_ranks("tcp"));
}

BOOST_AUTO_TEST_CASE(ranks_meet_where_a_killed_program_has_left_its_file) {
    must(make_private_directory(file.parent_path()));
    must(write_file(file, render_rendezvous_file({"another secret", Endpoint{"127.0.0.1", 1}})));
    check_ranks(run_ranks());
}

BOOST_AUTO_TEST_CASE(ranks_that_see_different_directories_get_an_error_with_the_file_and_the_variable) {
    check_ranks(run_rank_processes(2, [&](Rank rank) -> Status {
        auto options = options_of(rank);
        auto const own = directory / fmt::format("only-{}", rank.value);
        options.environment.set("DET_RENDEZVOUS_DIR", own.string());
        options.environment.set("DET_COLLECTIVE_TIMEOUT_S", "1");
        RankNumbers const numbers{{rank.value, nodes, {0, 1, rank.value, nodes}}, "training", "127.0.0.1"};
        auto const context = Context::connect(numbers, options);
        DET_TRY(expect(!context && context.error().code == codes::timed_out, "no connection"));
        auto const& error = context.error();
        auto const contains = [](std::string const& text, std::string const& part) {
            return text.find(part) != std::string::npos;
        };
        DET_TRY(expect(contains(error.message, own.string()), error.message));
        return expect(contains(error.hint, "DET_RENDEZVOUS_DIR"), error.hint);
    }));
}

BOOST_AUTO_TEST_CASE(two_ranks_with_the_same_number_are_an_error) {
    auto const outcomes = run_rank_processes(3, [&](Rank process) -> Status {
        // Rank 1 of 3 runs twice, and rank 2 is missing.
        int const rank = std::min(process.value, 1);
        auto options = options_of(Rank{rank});
        options.environment.set("DET_COLLECTIVE_TIMEOUT_S", "2");
        auto const context = Context::connect({{rank, 3, {0, 1, rank, 3}}, "training", "127.0.0.1"}, options);
        DET_TRY(expect(!context, "no connection"));
        return context.error();
    });
    auto const is_taken = [](RankOutcome const& outcome) {
        return outcome.error_text.find("there is a rank 1 already [name-taken]") != std::string::npos;
    };
    for (auto const& outcome : outcomes) BOOST_TEST_MESSAGE(outcome.error_text);
    BOOST_TEST(std::ranges::count_if(outcomes, is_taken) == 1);
    BOOST_TEST(!is_taken(outcomes[0]));
}

BOOST_AUTO_TEST_CASE(a_rendezvous_directory_that_other_users_can_access_is_refused) {
    must(make_directory(file.parent_path()));
    std::filesystem::permissions(file.parent_path(), std::filesystem::perms::all);
    auto const network = must(find_rank_network(numbers_of({0}), std::nullopt, environment(), "", {}));
    BOOST_REQUIRE(network.has_value());
    auto const error = must_fail(open_bootstrap(numbers_of({0}).identity, *network));
    BOOST_TEST((error.code == codes::unsafe_owner), error.message);
    BOOST_TEST(error.hint.find("DET_RENDEZVOUS_DIR") != std::string::npos, error.hint);
}

BOOST_AUTO_TEST_CASE(ranks_of_an_mpi_launcher_use_mpi_unless_another_transport_is_asked_for) {
    auto const uses_file = [&](std::map<std::string, std::string> const& variables, char const* wanted) {
        auto chosen = environment();
        for (auto const& [name, value] : variables) chosen.set(name, value);
        return must(find_rank_network(numbers_of({1}), std::nullopt, chosen, wanted, {})).has_value();
    };
    std::map<std::string, std::string> const mpirun{{"OMPI_COMM_WORLD_SIZE", "4"}};
    BOOST_TEST(uses_file({}, ""));
    BOOST_TEST(!uses_file(mpirun, ""));
    BOOST_TEST(uses_file(mpirun, "tcp"));
    BOOST_TEST(!uses_file({}, "mpi"));
    BOOST_TEST(!uses_file({{"PMIX_RANK", "1"}, {"SLURM_STEP_NUM_TASKS", "4"}}, ""));
    BOOST_TEST(!uses_file({{"MPI_LOCALNRANKS", "2"}, {"PMI_SIZE", "4"}}, ""));
    // srun --mpi=pmix has started torchrun on two nodes, and torchrun these ranks.
    BOOST_TEST(uses_file({{"PMIX_RANK", "1"}, {"SLURM_STEP_NUM_TASKS", "2"}}, ""));
    // srun without an MPI
    BOOST_TEST(uses_file({{"SLURM_STEP_NUM_TASKS", "4"}}, ""));
}

BOOST_AUTO_TEST_CASE(files_lie_in_the_home_directory_unless_another_one_is_chosen) {
    Environment environment;
    environment.set("HOME", "/home/me");
    BOOST_TEST(must(find_rendezvous_directory(environment)) == "/home/me/.cache/det-submit/ranks");
    environment.set("DET_RENDEZVOUS_DIR", "/scratch");
    BOOST_TEST(must(find_rendezvous_directory(environment)) ==
               "/scratch/det-ranks-" + std::to_string(::getuid()));
    BOOST_TEST((must_fail(find_rendezvous_directory({})).code == codes::misuse));
    BOOST_TEST(rendezvous_name("port-12360", "10.0.0.1") == "port-12360@10.0.0.1");
    BOOST_TEST(rendezvous_name("a/b", "../c") == "a_b@.._c");
}

BOOST_AUTO_TEST_CASE(a_node_has_the_address_of_its_route_to_the_chief_or_of_a_chosen_interface) {
    BOOST_TEST(must(find_node_address("127.0.0.1", "")) == "127.0.0.1");
    BOOST_TEST(must(find_node_address("127.0.0.2", "")) != "");
    BOOST_TEST(must(find_node_address("127.0.0.1", "nothing0,lo")) == "127.0.0.1");
    BOOST_TEST(must(find_node_address("127.0.0.1", "nothing0")) == "127.0.0.1");
    BOOST_TEST(must(find_node_address("localhost", "")) != "");
    auto const error = must_fail(find_node_address("no-such-host.invalid", ""));
    BOOST_TEST((error.code == codes::transport), error.message);
    BOOST_TEST(error.message.find("no-such-host.invalid") != std::string::npos, error.message);
    BOOST_TEST(error.hint.find("DET_INTER_NODE_NETWORK_INTERFACE") != std::string::npos, error.hint);
}

BOOST_AUTO_TEST_SUITE_END()
