#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <det/transport/mpi/mpi_transport.hpp>

#include <boost/test/unit_test.hpp>
#include <limits>
#include <mpi.h>

#include "../conformance/transport_suite.hpp"
#include "check_result.hpp"

using namespace det;
using namespace det::transport;

namespace {

void run_suite(mpi::Options options) {
    auto const transport = must(mpi::open_transport(options));
    for (auto const& test : transport_cases()) {
        auto const result = test.run(*transport);
        if (result) continue;
        BOOST_ERROR("rank " << transport->rank().value << ": " << test.name << ": "
                            << explain(result.error()));
    }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(transport_mpi_test)

BOOST_AUTO_TEST_CASE(it_is_a_transport) { run_suite({}); }

BOOST_AUTO_TEST_CASE(it_is_a_transport_when_messages_travel_in_pieces) {
    run_suite({.piece_limit_bytes = 10'000});
}

BOOST_AUTO_TEST_CASE(pieces_that_mpi_cannot_count_are_refused) {
    constexpr std::size_t countable = std::numeric_limits<int>::max();
    for (std::size_t const limit : {std::size_t{0}, countable + 1}) {
        BOOST_TEST(!mpi::open_transport({.piece_limit_bytes = limit}).has_value());
    }
}

BOOST_AUTO_TEST_CASE(a_thread_level_that_the_program_did_not_ask_for_is_an_error_with_what_to_do) {
    auto const error =
        must_fail(mpi::open_transport({.threads = mpi::ThreadLevel::any}));  // mpi_main asked for less
    BOOST_TEST(error.message.find("MPI_THREAD_MULTIPLE") != std::string::npos);
    BOOST_TEST(error.hint.starts_with("call MPI_Init_thread"));
}

BOOST_AUTO_TEST_CASE(a_communicator_of_the_program_is_enough) {
    int world_rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm half = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, -world_rank, &half);  // the other way round
    run_suite({.communicator = MPI_Comm_c2f(half)});
    auto const transport = must(mpi::open_transport({.communicator = MPI_Comm_c2f(half)}));
    int rank = 0, size = 0;
    MPI_Comm_rank(half, &rank);
    MPI_Comm_size(half, &size);
    BOOST_TEST((transport->rank() == Rank{rank} && transport->size() == size));
    MPI_Comm_free(&half);  // ours stays
    must(mpi::open_transport());
    BOOST_TEST((must_fail(mpi::open_transport({.communicator = MPI_Comm_c2f(MPI_COMM_NULL)})).code ==
                codes::misuse));
}

BOOST_AUTO_TEST_CASE(two_transports_do_not_meet) {
    auto const first = must(mpi::open_transport()), second = must(mpi::open_transport());
    if (first->size() < 2 || first->rank().value > 1) return;
    Rank const peer{1 - first->rank().value};
    std::byte const one{1}, two{2};
    std::byte from_first{}, from_second{};
    auto sending_one = must(first->start_send(peer, Tag{1}, std::span(&one, 1)));
    auto sending_two = must(second->start_send(peer, Tag{1}, std::span(&two, 1)));
    must(second->receive(peer, Tag{1}, std::span(&from_second, 1)));
    must(first->receive(peer, Tag{1}, std::span(&from_first, 1)));
    must(sending_one.finish());
    must(sending_two.finish());
    BOOST_TEST((from_first == one && from_second == two));
}

BOOST_AUTO_TEST_SUITE_END()
