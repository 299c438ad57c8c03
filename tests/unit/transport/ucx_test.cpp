#include <det/transport/ucx/ucx_transport.hpp>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "devices.hpp"
#include "file_bootstrap.hpp"
#include "test_rendezvous.hpp"
#include "transports.hpp"

using namespace det;
using namespace det::transport;

namespace ucx_test {

struct Meet : TestRendezvous {
    Result<std::unique_ptr<Transport>> open(Rank rank, int size, ucx::Options options = {}) const {
        DET_TRY_ASSIGN(auto rendezvous, bootstrap(rank, size));
        options.local_ranks = size;
        auto const* const transports = std::getenv("UCX_TLS");  // as core passes it on
        if (transports != nullptr) options.transports = transports;
        return ucx::open_transport(std::move(rendezvous), std::move(options));
    }
};

int count_listening_sockets() {
    int count = 0;
    for (int fd = 0; fd < 1024; ++fd) {
        int listens = 0, domain = 0;
        socklen_t size = sizeof listens, domain_size = sizeof domain;
        bool const is_socket = ::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 &&
                               ::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &domain_size) == 0;
        if (is_socket && listens != 0 && (domain == AF_INET || domain == AF_INET6)) ++count;
    }
    return count;
}

/// Notes between two processes by a socket pair, without progress of the transport.
class NotesBetweenTwo {
public:
    NotesBetweenTwo() { BOOST_REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends_) == 0); }
    ~NotesBetweenTwo() {
        for (int const end : ends_) ::close(end);
    }
    NotesBetweenTwo(NotesBetweenTwo const&) = delete;
    NotesBetweenTwo& operator=(NotesBetweenTwo const&) = delete;

    Status tell_peer(Rank rank, int count) const {
        return expect(::write(ends_[rank.value], &count, sizeof count) == sizeof count, "a note");
    }
    Result<int> wait_for_peer(Rank rank) const {
        constexpr int limit_ms = 20'000;
        pollfd end{ends_[rank.value], POLLIN, 0};
        int count = 0;
        DET_TRY(expect(::poll(&end, 1, limit_ms) == 1 && ::read(end.fd, &count, sizeof count) == sizeof count,
                       "the peer to have got everything"));
        return count;
    }

private:
    int ends_[2];
};

/// \param flushes how often the sender flushes. A call interrupts each flush but the last.
void check_that_flushed_messages_arrive(int flushes) {
    Meet const meet;
    NotesBetweenTwo const notes;
    check_ranks(run_rank_processes(2, [&](Rank rank) -> Status {
        ::setenv("UCX_TLS", "posix,self", 1);
        DET_TRY_ASSIGN(auto const transport, meet.open(rank, 2));
        std::vector<std::byte> bytes(6'000);
        Rank const peer{1 - rank.value};
        DET_TRY(transport->exchange({peer, bytes}, {peer, bytes}, Tag{1}));
        if (rank == Rank{1}) {
            DET_TRY_ASSIGN(auto const count, notes.wait_for_peer(rank));
            for (int i = 0; i < count; ++i) DET_TRY(transport->receive(peer, Tag{1}, bytes));
            DET_TRY(transport->flush());  // the peer is not in a call of UCX now
            return notes.tell_peer(rank, count);
        }
        // More than sockets hold: UCX buffers the rest of a message that it reports as sent.
        std::vector<Request> requests;
        for (bool is_sent = true; is_sent;) {
            DET_TRY(expect(requests.size() < 100'000, "a network that is full at last"));
            DET_TRY_ASSIGN(auto request, transport->start_send(peer, Tag{1}, bytes));
            DET_TRY_ASSIGN(is_sent, request.test());
            requests.push_back(std::move(request));
        }
        for (int i = 1; i < flushes; ++i) {
            DET_TRY(transport->flush());
            DET_TRY(requests.back().test());
        }
        DET_TRY(notes.tell_peer(rank, static_cast<int>(requests.size())));
        DET_TRY(transport->flush());
        DET_TRY(notes.wait_for_peer(rank));
        for (auto& request : requests) DET_TRY(request.finish());
        return Ok{};
    }));
}

}  // namespace ucx_test

BOOST_AUTO_TEST_SUITE(ucx_test)

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

BOOST_AUTO_TEST_CASE(it_conforms_to_the_interface_over_each_kind_of_shared_memory) {
    for (auto const* transports : {"posix,self", "sysv,self", "posix,cma,self"}) {
        BOOST_TEST_CONTEXT(transports) {
            Meet const meet;
            check_ranks(run_rank_processes(3, [&](Rank rank) -> Status {
                ::setenv("UCX_TLS", transports, 1);  // UCX reads its variables
                DET_TRY_ASSIGN(auto const transport, meet.open(rank, 3));
                return run_suite(*transport);
            }));
        }
    }
}

BOOST_AUTO_TEST_CASE(it_listens_at_no_port_whatever_the_user_wants_of_ucx) {
    for (auto const* transports : {"", "all", "tcp", "tcp,self,posix,sysv", "t?p,sm,self", "^posix"}) {
        for (auto const* interfaces : {"", "lo"}) {
            BOOST_TEST_CONTEXT("UCX_TLS=" << transports << ", interfaces " << interfaces) {
                Meet const meet;
                check_ranks(run_rank_processes(2, [&](Rank rank) -> Status {
                    if (*transports != 0) ::setenv("UCX_TLS", transports, 1);
                    DET_TRY_ASSIGN(auto const transport, meet.open(rank, 2, {.interfaces = interfaces}));
                    std::vector<std::byte> word(8);
                    Rank const peer{1 - rank.value};
                    DET_TRY(transport->exchange({peer, word}, {peer, word}, Tag{1}));
                    // Rank 0 has the store of the bootstrap.
                    return expect(count_listening_sockets() == (rank.value == 0 ? 1 : 0),
                                  "no port but that of the store");
                }));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(tcp_is_left_out_of_the_transports_that_the_user_wants) {
    BOOST_TEST(ucx::without_tcp("") == "^tcp");
    BOOST_TEST(ucx::without_tcp("all") == "^tcp");
    BOOST_TEST(ucx::without_tcp("^ud, dc") == "^ud, dc,tcp");
    BOOST_TEST(ucx::without_tcp("rc_x,tcp,self,sm") == "rc_x,self,sm");
    BOOST_TEST(ucx::without_tcp("\\rc, \\tcp") == "\\rc");
    BOOST_TEST(ucx::without_tcp("t*") == "self,sm");
    BOOST_TEST(ucx::names_tcp("rc,tcp"));
    for (auto const* value : {"", "all", "^tcp", "rc,sm"}) BOOST_TEST(!ucx::names_tcp(value));
    for (auto const* value : {"^tcp", "rc_x,self", "all", ""}) BOOST_TEST(ucx::reach_other_nodes(value));
    for (auto const* value : {"self,sm", "posix,cma"}) BOOST_TEST(!ucx::reach_other_nodes(value));
}

BOOST_AUTO_TEST_CASE(flushed_messages_arrive_while_their_sender_computes) {
    check_that_flushed_messages_arrive(1);
}

BOOST_AUTO_TEST_CASE(messages_arrive_whose_flush_was_interrupted_and_repeated) {
    check_that_flushed_messages_arrive(2);
}

BOOST_AUTO_TEST_CASE(it_opens_twice_over_a_file_bootstrap) {
    for (int i = 0; i < 2; ++i) {
        TemporaryDirectory const directory;
        check_ranks(run_rank_processes(2, [&](Rank rank) -> Status {
            DET_TRY_ASSIGN(auto bootstrap, open_file_bootstrap(rank, 2, directory / "files"));
            DET_TRY_ASSIGN(auto const transport,
                           ucx::open_transport(std::move(bootstrap), {.local_ranks = 2}));
            return run_suite(*transport);
        }));
    }
}

BOOST_AUTO_TEST_CASE(a_rank_that_abandons_the_transport_announces_no_departure) {
    Meet const meet;
    check_that_abandon_announces_no_departure([&](std::unique_ptr<RankMonitor> monitor) {
        return meet.open({0}, 1, {.monitor = std::move(monitor)});
    });
}

BOOST_AUTO_TEST_CASE(a_wait_for_a_killed_rank_is_an_error_that_names_it) {
    for (auto const* tls : {"posix,self", "all"}) {
        BOOST_TEST_CONTEXT(tls) {
            Meet const meet;
            check_that_a_killed_rank_is_an_error([&](Rank rank, int size) {
                ::setenv("UCX_TLS", tls, 1);
                return meet.open(rank, size);
            });
        }
    }
}

BOOST_AUTO_TEST_CASE(a_missing_interface_is_an_error_with_a_hint) {
    Meet const meet;
    auto const outcomes = run_rank_processes(1, [&](Rank rank) -> Status {
        auto const transport = meet.open(rank, 1, {.interfaces = "none7"});
        // With a single rank UCX may start without a network.
        return expect(transport.has_value() || transport.error().hint.find("none7") != std::string::npos,
                      "a hint");
    });
    check_ranks(outcomes);
}

BOOST_AUTO_TEST_CASE(an_interface_of_an_rdma_adapter_includes_the_adapter) {
    TemporaryDirectory const sys;
    auto const ib1 = sys / "class" / "net" / "ib1";
    std::filesystem::create_directories(ib1 / "device/infiniband/mlx5_3");
    std::filesystem::create_directories(sys / "class/net/eth0");
    must(write_file(ib1 / "dev_port", "1\n"));
    BOOST_TEST(ucx::ucx_devices("eth0", sys.path()) == "");
    BOOST_TEST(ucx::ucx_devices("eth0, ib1", sys.path()) == "mlx5_3:2");
    BOOST_TEST(ucx::ucx_devices("", sys.path()) == "");
}

BOOST_AUTO_TEST_SUITE_END()
