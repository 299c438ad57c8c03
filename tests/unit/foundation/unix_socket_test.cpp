#include <det/foundation/unix_socket.hpp>

#include <array>
#include <boost/test/unit_test.hpp>
#include <sys/socket.h>
#include <unistd.h>

#include "check_result.hpp"

using namespace det;
using namespace std::chrono_literals;

namespace unix_socket_fixture {

struct Sockets {
    UniqueFd ours, peers;

    Sockets() {
        std::array<int, 2> ends{};
        BOOST_REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) == 0);
        ours = UniqueFd(ends[0]);
        peers = UniqueFd(ends[1]);
    }

    Result<std::vector<UniqueFd>> receive(std::size_t size_bytes) {
        std::vector<std::byte> bytes(size_bytes);
        return unix_socket::receive_message(ours.get(), bytes, 0, std::chrono::steady_clock::now() + 10s);
    }
};

}  // namespace unix_socket_fixture

BOOST_FIXTURE_TEST_SUITE(unix_socket_test, unix_socket_fixture::Sockets)

BOOST_AUTO_TEST_CASE(a_peer_that_closes_the_connection_is_a_lost_peer) {
    peers.reset();
    auto const error = must_fail(receive(4));
    BOOST_TEST(error.code.name == codes::transport.name);
    BOOST_TEST(error.message == "the peer has closed the connection");
}

BOOST_AUTO_TEST_CASE(a_peer_that_closes_it_with_unread_messages_is_a_lost_peer) {
    BOOST_REQUIRE(::write(ours.get(), "1234", 4) == 4);
    peers.reset();
    auto const error = must_fail(receive(4));
    BOOST_TEST(error.code.name == codes::transport.name);
    BOOST_TEST(error.message == "the peer has closed the connection");
}

BOOST_AUTO_TEST_CASE(a_message_has_exactly_the_size_that_is_due) {
    for (std::size_t const due : {3, 4, 5}) {
        BOOST_REQUIRE(::write(peers.get(), "1234", 4) == 4);
        auto const received = receive(due);
        BOOST_TEST(received.has_value() == (due == 4));
    }
}

BOOST_AUTO_TEST_SUITE_END()
