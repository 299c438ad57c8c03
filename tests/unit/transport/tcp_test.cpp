#include <det/foundation/files.hpp>
#include <det/protocol/meeting.hpp>
#include <det/transport/tcp.hpp>
#include <det/transport/tcp_bootstrap.hpp>

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <unistd.h>

#include "../../conformance/expectation.hpp"
#include "../../conformance/transport_suite.hpp"
#include "check_result.hpp"
#include "rank_processes.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace det::transport;

namespace {

struct Meet : TemporaryDirectory {
    Meet() { must(write_file(path() / "meeting", render_meeting({"a secret"}))); }

    Result<std::unique_ptr<Transport>> open(Rank rank, int size, TcpOptions options = {}) const {
        DET_TRY_ASSIGN(auto bootstrap, open_tcp_bootstrap(rank, size, path() / "meeting",
                                                          {.waits = {std::chrono::seconds(30)}}));
        options.local_ranks = size;
        return open_tcp_transport(std::move(bootstrap), std::move(options));
    }
};

Status run_suite(Transport& transport) {
    for (auto const& test : transport_cases()) {
        if (auto result = test.run(transport); !result) {
            return std::move(result).error().while_doing(std::string(test.name));
        }
    }
    return Ok{};
}

Status barrier(Transport& transport) {
    for (int i = 0; i < transport.size(); ++i) {
        std::byte out{}, in{};
        Rank const to{(transport.rank().value + i) % transport.size()};
        Rank const from{(transport.rank().value + transport.size() - i) % transport.size()};
        DET_TRY(transport.exchange({to, std::span(&out, 1)}, {from, std::span(&in, 1)}, Tag{1}));
    }
    return Ok{};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(tcp_test)

BOOST_AUTO_TEST_CASE(it_is_a_transport) {
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

BOOST_AUTO_TEST_CASE(who_waits_for_a_rank_that_was_killed_gets_an_error_that_names_it) {
    Meet const meet;
    auto const outcomes = run_rank_processes(3, [&](Rank rank) -> Status {
        DET_TRY_ASSIGN(auto const transport, meet.open(rank, 3));
        DET_TRY(barrier(*transport));
        if (rank.value == 1) ::raise(SIGKILL);
        std::vector<std::byte> into(std::size_t{1} << 20);
        auto const received = transport->receive({1}, Tag{2}, into);
        DET_TRY(expect(!received, "no message of the dead"));
        DET_TRY(expect(received.error().message.starts_with("rank 1 has left or was lost"),
                       received.error().message));
        return expect(!transport->send({1}, Tag{2}, into), "none to them");
    });
    BOOST_TEST((outcomes[1].signal == SIGKILL));
    BOOST_TEST((outcomes[0].complaint + outcomes[2].complaint) == "");
}

BOOST_AUTO_TEST_CASE(what_a_rank_sent_before_it_left_is_still_received) {
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
