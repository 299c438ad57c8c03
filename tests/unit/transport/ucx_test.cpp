#include <det/foundation/files.hpp>
#include <det/protocol/meeting.hpp>
#include <det/transport/file_bootstrap.hpp>
#include <det/transport/tcp_bootstrap.hpp>
#include <det/transport/ucx.hpp>

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <unistd.h>

#include "../../conformance/expectation.hpp"
#include "../../conformance/transport_suite.hpp"
#include "check_result.hpp"
#include "rank_processes.hpp"
#include "temporary_directory.hpp"
#include "ucx_devices.hpp"

using namespace det;
using namespace det::transport;

namespace {

struct Meet : TemporaryDirectory {
    Meet() { must(write_file(path() / "meeting", render_meeting({"a secret"}))); }

    Result<std::unique_ptr<Transport>> open(Rank rank, int size, UcxOptions options = {}) const {
        DET_TRY_ASSIGN(auto bootstrap, open_tcp_bootstrap(rank, size, path() / "meeting",
                                                          {.waits = {std::chrono::seconds(30)}}));
        options.local_ranks = size;
        return open_ucx_transport(std::move(bootstrap), std::move(options));
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

BOOST_AUTO_TEST_SUITE(ucx_test)

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

BOOST_AUTO_TEST_CASE(it_is_a_transport_over_tcp_alone) {
    Meet const meet;
    check_ranks(run_rank_processes(3, [&](Rank rank) -> Status {
        ::setenv("UCX_TLS", "tcp,self", 1);  // as between nodes: UCX's own variables hold
        DET_TRY_ASSIGN(auto const transport, meet.open(rank, 3, {.interfaces = "lo"}));
        return run_suite(*transport);
    }));
}

BOOST_AUTO_TEST_CASE(ranks_can_meet_by_files_and_open_one_again) {
    for (int i = 0; i < 2; ++i) {
        TemporaryDirectory const directory;
        check_ranks(run_rank_processes(2, [&](Rank rank) -> Status {
            DET_TRY_ASSIGN(auto bootstrap, open_file_bootstrap(rank, 2, directory / "files"));
            DET_TRY_ASSIGN(auto const transport,
                           open_ucx_transport(std::move(bootstrap), {.local_ranks = 2}));
            return barrier(*transport);
        }));
    }
}

BOOST_AUTO_TEST_CASE(who_waits_for_a_rank_that_was_killed_gets_an_error_that_names_it) {
    for (auto const* tls : {"tcp,self", "all"}) {
        BOOST_TEST_CONTEXT(tls) {
            Meet const meet;
            auto const outcomes = run_rank_processes(3, [&](Rank rank) -> Status {
                ::setenv("UCX_TLS", tls, 1);
                DET_TRY_ASSIGN(auto const transport, meet.open(rank, 3));
                std::byte byte{};
                if (rank.value == 1) {
                    // What it still has to send itself would be lost with it: so it only listens.
                    for (int const other : {0, 2})
                        DET_TRY(transport->receive({other}, Tag{1}, std::span(&byte, 1)));
                    ::raise(SIGKILL);
                }
                DET_TRY(transport->send({1}, Tag{1}, std::span(&byte, 1)));
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
    }
}

BOOST_AUTO_TEST_CASE(an_interface_that_is_not_there_is_an_error_that_says_so) {
    Meet const meet;
    auto const outcomes = run_rank_processes(1, [&](Rank rank) -> Status {
        auto const transport = meet.open(rank, 1, {.interfaces = "none7"});
        // Alone, UCX needs no network: it may start without.
        return expect(transport.has_value() || transport.error().hint.find("none7") != std::string::npos,
                      "a hint");
    });
    check_ranks(outcomes);
}

BOOST_AUTO_TEST_CASE(an_interface_of_an_rdma_adapter_stands_for_the_adapter) {
    TemporaryDirectory const sys;
    auto const ib1 = sys / "class" / "net" / "ib1";
    std::filesystem::create_directories(ib1 / "device/infiniband/mlx5_3");
    std::filesystem::create_directories(sys / "class/net/eth0");
    must(write_file(ib1 / "dev_port", "1\n"));
    BOOST_TEST(ucx_devices("eth0", sys.path()) == "eth0");
    BOOST_TEST(ucx_devices("eth0, ib1", sys.path()) == "eth0,ib1,mlx5_3:2");
    BOOST_TEST(ucx_devices("", sys.path()) == "");
}

BOOST_AUTO_TEST_SUITE_END()
