#include <det/transport/tcp/tcp_transport.hpp>

#include <netinet/in.h>
#include <sys/socket.h>

#include "socket.hpp"
#include "test_rendezvous.hpp"

using namespace det;
using namespace det::transport;
using namespace std::chrono_literals;

namespace tcp_test {

struct Meet : TestRendezvous {
    Result<std::unique_ptr<Transport>> open(Rank rank, int size, tcp::Options options = {}) const {
        DET_TRY_ASSIGN(auto rendezvous, bootstrap(rank, size));
        options.local_ranks = size;
        return tcp::open_transport(std::move(rendezvous), std::move(options));
    }
};

/// The port at which this process listens, of the highest file descriptor that does.
std::uint16_t find_listening_port() {
    std::uint16_t port = 0;
    for (int fd = 0; fd < 1024; ++fd) {
        int listens = 0;
        socklen_t size = sizeof listens;
        sockaddr_in address{};
        socklen_t address_size = sizeof address;
        if (::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens != 0 &&
            ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &address_size) == 0)
            port = ntohs(address.sin_port);
    }
    return port;
}

UniqueFd call(Endpoint const& endpoint) {
    return must(connect_to(endpoint, std::chrono::steady_clock::now() + 5s));
}

/// Checks that rank 1 can make a connection to rank 0 within some seconds after `disturb` has used rank 0's
/// port. `disturb` returns what must stay open meanwhile.
void check_first_connection(std::function<std::vector<UniqueFd>(Endpoint const&)> const& disturb) {
    // Larger messages than those that use the connection of the other direction.
    constexpr std::size_t large_bytes = std::size_t{64} << 10;
    Meet const meet;
    check_ranks(run_rank_processes(2, [&](Rank rank) -> Status {
        DET_TRY_ASSIGN(auto const transport, meet.open(rank, 2));
        std::vector<std::byte> large(large_bytes), port(2);
        if (rank.value == 0) {
            auto const number = find_listening_port();
            port = {static_cast<std::byte>(number >> 8), static_cast<std::byte>(number & 0xff)};
            DET_TRY(transport->send({1}, Tag{1}, port));
            DET_TRY(transport->receive({1}, Tag{2}, large));
            return transport->send({1}, Tag{3}, port);
        }
        DET_TRY(transport->receive({0}, Tag{1}, port));
        auto const number = (std::to_integer<unsigned>(port[0]) << 8) | std::to_integer<unsigned>(port[1]);
        auto const open = disturb({"127.0.0.1", static_cast<std::uint16_t>(number)});
        auto const begin = std::chrono::steady_clock::now();
        DET_TRY(transport->send({0}, Tag{2}, large));
        DET_TRY(transport->receive({0}, Tag{3}, port));
        return expect(std::chrono::steady_clock::now() - begin < 5s, "a connection without a delay");
    }));
}

}  // namespace tcp_test

BOOST_AUTO_TEST_SUITE(tcp_test)

BOOST_AUTO_TEST_CASE(it_conforms_to_the_interface) {
    for (int const size : {1, 2, 3, 4}) {
        BOOST_TEST_CONTEXT(size << " ranks") {
            Meet const meet;
            check_ranks(run_rank_processes(size, [&](Rank rank) -> Status {
                DET_TRY_ASSIGN(auto const transport, meet.open(rank, size));
                return run_suite(*transport);
            }));
        }
    }
}

BOOST_AUTO_TEST_CASE(it_conforms_without_buffers_for_unexpected_messages) {
    for (std::size_t const limit : {0, 1000}) {
        Meet const meet;
        check_ranks(run_rank_processes(3, [&](Rank rank) -> Status {
            DET_TRY_ASSIGN(auto const transport, meet.open(rank, 3, {.unexpected_limit_bytes = limit}));
            return run_suite(*transport);
        }));
    }
}

BOOST_AUTO_TEST_CASE(a_sender_of_unexpected_messages_waits_at_the_limit_of_the_receiver) {
    constexpr std::size_t message_bytes = std::size_t{4} << 20;
    constexpr int messages = 16;  // more than the buffers of sockets hold
    constexpr int turns = 300;    // enough to receive all of them meanwhile
    Meet const meet;
    check_ranks(run_rank_processes(3, [&](Rank rank) -> Status {
        DET_TRY_ASSIGN(auto const transport,
                       meet.open(rank, 3, {.unexpected_limit_bytes = 2 * message_bytes}));
        std::vector<std::byte> bytes(message_bytes, std::byte{7});
        std::byte word{}, answer{};
        auto const one = std::span(&word, 1);
        auto const into = std::span(&answer, 1);
        if (rank.value == 1) {
            // Each send is complete only when all of its bytes are in the socket.
            for (int i = 0; i < messages; ++i) DET_TRY(transport->send({0}, Tag{1}, bytes));
            return transport->send({2}, Tag{2}, one);
        }
        if (rank.value == 2) {
            DET_TRY_ASSIGN(auto done, transport->start_receive({1}, Tag{2}, one));
            // Rank 0 takes part in this exchange, but receives no message of rank 1 yet.
            for (int i = 0; i < turns; ++i) DET_TRY(transport->exchange({{0}, one}, {{0}, into}, Tag{3}));
            DET_TRY_ASSIGN(bool const is_over, done.test());
            DET_TRY(expect(!is_over, "the second rank to be held up"));
            DET_TRY(transport->send({0}, Tag{4}, one));
            DET_TRY(done.finish());
            return Ok{};
        }
        std::vector<std::byte> in(message_bytes);
        for (int i = 0; i < turns; ++i) DET_TRY(transport->exchange({{2}, one}, {{2}, into}, Tag{3}));
        DET_TRY(transport->receive({2}, Tag{4}, one));
        for (int i = 0; i < messages; ++i) DET_TRY(transport->receive({1}, Tag{1}, in));
        return expect(in == bytes, "what was sent");
    }));
}

BOOST_AUTO_TEST_CASE(an_awaited_message_is_received_behind_unexpected_ones) {
    Meet const meet;
    check_ranks(run_rank_processes(2, [&](Rank rank) -> Status {
        DET_TRY_ASSIGN(auto const transport, meet.open(rank, 2, {.unexpected_limit_bytes = 100}));
        std::vector<std::byte> bytes(std::size_t{16} << 20, std::byte{7}), in(bytes.size());
        std::byte word{};
        if (rank.value == 1) {
            DET_TRY(transport->send({0}, Tag{1}, bytes));
            return transport->send({0}, Tag{2}, std::span(&word, 1));
        }
        DET_TRY(transport->receive({1}, Tag{2}, std::span(&word, 1)));
        DET_TRY(transport->receive({1}, Tag{1}, in));
        return expect(in == bytes, "what came first");
    }));
}

BOOST_AUTO_TEST_CASE(small_and_large_messages_of_one_tag_keep_their_order) {
    constexpr std::size_t sizes[] = {8, 300'000, 0, 4096, 4097, 8, 3'000'000, 16};
    Meet const meet;
    check_ranks(run_rank_processes(2, [&](Rank rank) -> Status {
        DET_TRY_ASSIGN(auto const transport, meet.open(rank, 2));
        Rank const peer{1 - rank.value};
        for (int round = 0; round < 20; ++round) {
            std::vector<std::vector<std::byte>> out, in;
            std::vector<Request> requests;
            for (std::size_t i = 0; i < std::size(sizes); ++i) {
                auto const& outgoing = out.emplace_back(sizes[i], static_cast<std::byte>(i + 1));
                DET_TRY_ASSIGN(auto sending, transport->start_send(peer, Tag{1}, outgoing));
                requests.push_back(std::move(sending));
            }
            for (auto const size : sizes) {
                DET_TRY_ASSIGN(auto receiving, transport->start_receive(peer, Tag{1}, in.emplace_back(size)));
                requests.push_back(std::move(receiving));
            }
            for (auto& request : requests) DET_TRY(request.finish());
            DET_TRY(expect(in == out, "all messages, each in its place"));
        }
        return Ok{};
    }));
}

BOOST_AUTO_TEST_CASE(a_cancelled_send_does_not_delay_later_messages) {
    Meet const meet;
    check_ranks(run_rank_processes(2, [&](Rank rank) -> Status {
        DET_TRY_ASSIGN(auto const transport, meet.open(rank, 2, {.unexpected_limit_bytes = 100}));
        std::vector<std::byte> large(std::size_t{16} << 20, std::byte{7}), in(large.size());
        std::byte word{9};
        auto const small = std::span(&word, 1);
        if (rank.value == 0) {
            DET_TRY(transport->send({1}, Tag{3}, small));
            DET_TRY(transport->receive({1}, Tag{1}, in));
            DET_TRY(transport->receive({1}, Tag{2}, small));
            return expect(in == large && word == std::byte{9}, "what was not taken back");
        }
        DET_TRY(transport->receive({0}, Tag{3}, small));
        DET_TRY_ASSIGN(auto first, transport->start_send({0}, Tag{1}, large));
        { DET_TRY_ASSIGN(auto const second, transport->start_send({0}, Tag{1}, large)); }
        DET_TRY(transport->send({0}, Tag{2}, small));
        DET_TRY(first.finish());
        return transport->flush();
    }));
}

BOOST_AUTO_TEST_CASE(a_rank_that_abandons_the_transport_announces_no_departure) {
    Meet const meet;
    check_that_abandon_announces_no_departure([&](std::unique_ptr<RankMonitor> monitor) {
        return meet.open({0}, 1, {.monitor = std::move(monitor)});
    });
}

BOOST_AUTO_TEST_CASE(a_wait_for_a_killed_rank_is_an_error_that_names_it) {
    Meet const meet;
    check_that_a_killed_rank_is_an_error([&](Rank rank, int size) { return meet.open(rank, size); });
}

BOOST_AUTO_TEST_CASE(two_hundred_idle_connections_do_not_delay_the_first_message) {
    check_first_connection([](Endpoint const& endpoint) {
        std::vector<UniqueFd> idle;
        for (int i = 0; i < 200; ++i) idle.push_back(call(endpoint));
        return idle;
    });
}

BOOST_AUTO_TEST_CASE(connections_with_garbage_do_not_disturb_the_first_message) {
    check_first_connection([](Endpoint const& endpoint) {
        std::vector<UniqueFd> open;
        auto const soon = std::chrono::steady_clock::now() + 5s;
        for (auto const& garbage :
             {std::string(108, '\0'), std::string(200, 'x'), std::string("short"),
              "GET / HTTP/1.1\r\n\r\n" + std::string(100, ' '), std::string(std::size_t{1} << 20, '\xff')}) {
            open.push_back(call(endpoint));
            (void)send_all(open.back(), garbage, soon);
        }
        return open;
    });
}

BOOST_AUTO_TEST_CASE(messages_of_a_rank_that_left_are_still_received) {
    Meet const meet;
    check_ranks(run_rank_processes(2, [&](Rank rank) -> Status {
        DET_TRY_ASSIGN(auto transport, meet.open(rank, 2));
        std::vector<std::byte> bytes(std::size_t{4} << 20, std::byte{7});
        if (rank.value == 1) return transport->send({0}, Tag{1}, bytes);
        std::vector<std::byte> into(bytes.size());
        DET_TRY(transport->receive({1}, Tag{1}, into));
        return expect(into == bytes, "all of it");
    }));
}

BOOST_AUTO_TEST_SUITE_END()
