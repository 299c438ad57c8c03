#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <det/foundation/files.hpp>
#include <det/transport/mpi/mpi_transport.hpp>

#include <boost/test/unit_test.hpp>
#include <limits>
#include <mpi.h>
#include <thread>
#include <unistd.h>

#include "../conformance/transport_suite.hpp"
#include "check_result.hpp"

using namespace det;
using namespace det::transport;

namespace transport_mpi_test {

void run_suite(mpi::Options options) {
    auto const transport = must(mpi::open_transport(options));
    for (auto const& test : transport_cases()) {
        auto const result = test.run(*transport);
        if (result) continue;
        BOOST_ERROR("rank " << transport->rank().value << ": " << test.name << ": "
                            << explain(result.error()));
    }
}

/// Numbers that a rank writes into files for the other ranks of this node, without calls of MPI.
class Notes {
public:
    explicit Notes(std::string const& name)
        : path_(std::filesystem::temp_directory_path() / (name + std::to_string(::getppid()))) {}

    void write(std::string const& note, int value) const {
        must(write_file(path_.string() + note, std::to_string(value)));
    }
    /// Blocks until the note has been written, and removes it.
    int take(std::string const& note) const {
        auto const path = path_.string() + note;
        auto const until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (std::chrono::steady_clock::now() < until) {
            auto const text = read_file(path);
            if (text) {
                std::filesystem::remove(path);
                return std::stoi(*text);
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        BOOST_FAIL("no note '" << note << "'");
        return 0;
    }

private:
    std::filesystem::path path_;
};

}  // namespace transport_mpi_test

BOOST_AUTO_TEST_SUITE(transport_mpi_test)

BOOST_AUTO_TEST_CASE(it_conforms_to_the_interface) { run_suite({}); }

BOOST_AUTO_TEST_CASE(it_conforms_to_the_interface_with_messages_in_pieces) {
    run_suite({.piece_limit_bytes = 10'000});
}

BOOST_AUTO_TEST_CASE(pieces_that_mpi_cannot_count_are_refused) {
    constexpr std::size_t countable = std::numeric_limits<int>::max();
    for (std::size_t const limit : {std::size_t{0}, countable + 1}) {
        BOOST_TEST(!mpi::open_transport({.piece_limit_bytes = limit}).has_value());
    }
}

BOOST_AUTO_TEST_CASE(a_thread_level_that_mpi_does_not_provide_is_an_error_with_a_hint) {
    auto const error = must_fail(mpi::open_transport(
        {.threads = mpi::ThreadLevel::any}));  // mpi_main initialises MPI with a lower level
    BOOST_TEST(error.message.find("MPI_THREAD_MULTIPLE") != std::string::npos);
    BOOST_TEST(error.hint.starts_with("call MPI_Init_thread"));
}

BOOST_AUTO_TEST_CASE(it_conforms_over_a_communicator_of_the_program) {
    int world_rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm half = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, -world_rank, &half);  // in reverse order
    run_suite({.communicator = MPI_Comm_c2f(half)});
    auto const transport = must(mpi::open_transport({.communicator = MPI_Comm_c2f(half)}));
    int rank = 0, size = 0;
    MPI_Comm_rank(half, &rank);
    MPI_Comm_size(half, &size);
    BOOST_TEST((transport->rank() == Rank{rank} && transport->size() == size));
    MPI_Comm_free(&half);  // the transport uses a duplicate
    must(mpi::open_transport());
    BOOST_TEST((must_fail(mpi::open_transport({.communicator = MPI_Comm_c2f(MPI_COMM_NULL)})).code ==
                codes::misuse));
}

BOOST_AUTO_TEST_CASE(finished_sends_arrive_without_further_calls_of_mpi) {
    auto const transport = must(mpi::open_transport());
    Notes const notes("det-mpi-flush-");
    constexpr int sends_max = 5000;
    std::vector<std::byte> bytes(200);
    if (transport->size() == 1 || transport->rank().value > 1) return;
    Rank const peer{1 - transport->rank().value};
    must(transport->exchange({peer, bytes}, {peer, bytes}, Tag{1}));
    if (transport->rank() == Rank{0}) {
        std::vector<Request> sending;
        int finished = 0;
        for (bool is_over = true; is_over && finished < sends_max;) {
            sending.push_back(must(transport->start_send(peer, Tag{1}, bytes)));
            is_over = must(sending.back().test());
            finished += is_over ? 1 : 0;
        }
        must(transport->flush());
        notes.write("sent", finished);
        BOOST_TEST(notes.take("received") == finished);
        for (auto& send : sending) must(send.finish());
    }
    if (transport->rank() == Rank{1}) {
        int const count = notes.take("sent");
        for (int i = 0; i < count; ++i) must(transport->receive(peer, Tag{1}, bytes));
        notes.write("received", count);
        if (count < sends_max) must(transport->receive(peer, Tag{1}, bytes));  // the last send
    }
}

BOOST_AUTO_TEST_CASE(messages_of_two_transports_never_match) {
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
