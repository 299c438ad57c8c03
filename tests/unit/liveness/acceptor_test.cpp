#include <det/foundation/socket_owner.hpp>
#include <det/liveness/acceptor.hpp>

#include <arpa/inet.h>
#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check_result.hpp"

using namespace det;
using namespace det::liveness;
using namespace std::chrono_literals;

namespace acceptor_test {

using Clock = std::chrono::steady_clock;

sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    return address;
}

sockaddr const* generic(sockaddr_in const& address) { return reinterpret_cast<sockaddr const*>(&address); }

sockaddr_storage storage_of(char const* text) {
    sockaddr_storage storage{};
    auto& four = reinterpret_cast<sockaddr_in&>(storage);
    auto& six = reinterpret_cast<sockaddr_in6&>(storage);
    if (::inet_pton(AF_INET, text, &four.sin_addr) == 1) {
        four.sin_family = AF_INET;
    } else {
        BOOST_REQUIRE(::inet_pton(AF_INET6, text, &six.sin6_addr) == 1);
        six.sin6_family = AF_INET6;
    }
    return storage;
}

/// A listener at 127.0.0.1 that greets with "hello" and wants "peer N" as the answer.
struct Server {
    Server() {
        UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
        auto address = loopback(0);
        socklen_t size = sizeof address;
        BOOST_REQUIRE(::bind(listener.get(), generic(address), size) == 0);
        BOOST_REQUIRE(::listen(listener.get(), 4096) == 0);
        ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size);
        port = ntohs(address.sin_port);
        acceptor.emplace(
            must(Acceptor::make(std::move(listener),
                                {6, [] { return std::string("hello"); },
                                 [](std::string_view greeting, std::string_view answer) -> Acceptor::Verdict {
                                     bool const is_right = greeting == "hello" && answer.starts_with("peer ");
                                     return is_right ? Acceptor::Verdict{answer.back() - '0', "yes"}
                                                     : Acceptor::Verdict{std::nullopt, "no!"};
                                 }})));
    }

    /// \param from the source address
    UniqueFd call(char const* from = "127.0.0.1") const {
        UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        auto own = loopback(0), there = loopback(port);
        BOOST_REQUIRE(::inet_pton(AF_INET, from, &own.sin_addr) == 1);
        BOOST_REQUIRE(::bind(socket.get(), generic(own), sizeof own) == 0);
        BOOST_REQUIRE(::connect(socket.get(), generic(there), sizeof there) == 0);
        return socket;
    }
    void advance(Clock::time_point now = Clock::now()) {
        acceptor->advance([this](Acceptor::Admitted one) { admitted.push_back(std::move(one)); }, now);
    }
    /// Serves until the condition is true, at most for some seconds.
    template <class Condition>
    bool serve_until(Condition const& condition) {
        for (auto const limit = Clock::now() + 10s; Clock::now() < limit;) {
            advance();
            if (condition()) return true;
            pollfd entry{acceptor->fd(), POLLIN, 0};
            ::poll(&entry, 1, 5);
        }
        return false;
    }

    std::uint16_t port = 0;
    std::optional<Acceptor> acceptor;
    std::vector<Acceptor::Admitted> admitted;
};

std::string read_some(UniqueFd const& socket) {
    char bytes[64];
    auto const size = ::recv(socket.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    return size > 0 ? std::string(bytes, static_cast<std::size_t>(size)) : size == 0 ? "closed" : "nothing";
}

void say(UniqueFd const& socket, std::string_view text) {
    BOOST_REQUIRE(::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL) ==
                  static_cast<ssize_t>(text.size()));
}

}  // namespace acceptor_test

BOOST_FIXTURE_TEST_SUITE(acceptor_test, Server)

BOOST_AUTO_TEST_CASE(a_peer_that_proves_itself_is_admitted_with_its_number) {
    auto const peer = call();
    say(peer, "pee");
    BOOST_TEST(serve_until([&] { return acceptor->pending() == 1; }));
    BOOST_TEST(admitted.empty());
    say(peer, "r 7and its first message");
    BOOST_REQUIRE(serve_until([&] { return !admitted.empty(); }));
    BOOST_TEST(admitted[0].peer == 7);
    BOOST_TEST(acceptor->pending() == 0u);
    BOOST_TEST(read_some(peer) == "helloyes");
    BOOST_TEST(read_some(admitted[0].socket) == "and its first message");
}

BOOST_AUTO_TEST_CASE(a_wrong_proof_is_refused_with_the_reply) {
    auto const peer = call();
    say(peer, "nobody");
    BOOST_TEST(serve_until([&] { return read_some(peer).ends_with("no!"); }));
    BOOST_TEST(serve_until([&] { return read_some(peer) == "closed"; }));
    BOOST_TEST(admitted.empty());
}

BOOST_AUTO_TEST_CASE(an_idle_connection_is_closed_after_two_seconds_and_not_before) {
    auto const idle = call();
    auto const begin = Clock::now();
    advance(begin);
    BOOST_TEST(read_some(idle) == "hello");
    advance(begin + 2s - 1ms);
    BOOST_TEST(read_some(idle) == "nothing");
    advance(begin + 2s);
    BOOST_TEST(read_some(idle) == "closed");
}

BOOST_AUTO_TEST_CASE(an_answer_that_arrived_while_the_process_was_busy_is_not_late) {
    auto const peer = call();
    auto const begin = Clock::now();
    advance(begin);
    say(peer, "peer 1");
    advance(begin + 47s);
    BOOST_TEST(admitted.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_peer_is_admitted_within_a_second_behind_400_idle_connections) {
    std::vector<UniqueFd> idle;
    for (int i = 0; i < 400; ++i) idle.push_back(call("127.0.0.2"));
    acceptor->add_node("127.0.0.1");
    auto const peer = call();
    say(peer, "peer 3");
    auto const begin = Clock::now();
    BOOST_REQUIRE(serve_until([&] { return !admitted.empty(); }));
    BOOST_TEST((Clock::now() - begin < 1s));
    BOOST_TEST(acceptor->pending() <= PendingLimits{}.of_one_source);
}

BOOST_AUTO_TEST_CASE(connections_are_accepted_again_after_the_process_ran_out_of_descriptors) {
    rlimit before{};
    ::getrlimit(RLIMIT_NOFILE, &before);
    std::vector<UniqueFd> peers;
    for (int i = 0; i < 5; ++i) peers.push_back(call());
    UniqueFd const next(::dup(0));
    rlimit const low{static_cast<rlim_t>(next.get()), before.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &low);
    advance();
    BOOST_TEST(acceptor->pending() == 0u);
    BOOST_TEST((acceptor->next_time() <= Clock::now() + 20ms));
    ::setrlimit(RLIMIT_NOFILE, &before);
    BOOST_TEST(serve_until([&] { return acceptor->pending() == 5; }));
}

BOOST_AUTO_TEST_CASE(a_source_is_an_address_or_a_network_that_one_host_has) {
    auto const source = [](char const* text) { return source_of_address(storage_of(text)).source; };
    BOOST_TEST(source("10.1.2.3") == "10.1.2.3");
    BOOST_TEST(source("::ffff:10.1.2.3") == "10.1.2.3");
    BOOST_TEST(source("127.0.0.1") == source("127.9.9.9"));
    BOOST_TEST(source("2001:db8:0:1::5") == source("2001:db8:0:1:ffff::6"));
    BOOST_TEST(source("2001:db8:0:1::5") != source("2001:db8:0:2::5"));
    BOOST_TEST(source_of_address(storage_of("::ffff:10.1.2.3")).address == "10.1.2.3");
}

BOOST_AUTO_TEST_CASE(a_user_of_this_host_is_a_source_whatever_address_he_uses) {
    if (::geteuid() != 0) {
        BOOST_TEST_MESSAGE("SKIPPED: only root can connect as another user");
        return;
    }
    constexpr uid_t other = 4242;
    UniqueFd const listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    auto address = loopback(0);
    socklen_t size = sizeof address;
    BOOST_REQUIRE(::bind(listener.get(), generic(address), size) == 0);
    BOOST_REQUIRE(::listen(listener.get(), 8) == 0);
    ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size);
    int go[2];
    BOOST_REQUIRE(::pipe2(go, O_CLOEXEC) == 0);
    UniqueFd const end(go[0]);
    UniqueFd hold(go[1]);
    auto const child = ::fork();
    if (child == 0) {
        hold.reset();
        char byte = 0;
        int const socket = ::setuid(other) == 0 ? ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) : -1;
        bool const connects = socket >= 0 && ::connect(socket, generic(address), sizeof address) == 0;
        (void)!::read(end.get(), &byte, 1);  // until the test closes the pipe
        ::_exit(connects ? 0 : 1);
    }
    UniqueFd const theirs(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    auto const source = source_of_connection(theirs.get());
    BOOST_TEST(source.source == "user 4242");
    BOOST_TEST(source.is_other_user);
    hold.reset();
    int status = 0;
    ::waitpid(child, &status, 0);
    BOOST_TEST(status == 0);
    UniqueFd const own(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    BOOST_REQUIRE(::connect(own.get(), generic(address), sizeof address) == 0);
    UniqueFd const accepted(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    BOOST_TEST((find_owner_of_peer(accepted.get()) == ::geteuid()));
    BOOST_TEST(!source_of_connection(accepted.get()).is_other_user);
}

BOOST_AUTO_TEST_SUITE_END()
