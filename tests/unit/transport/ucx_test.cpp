#include <det/transport/file_bootstrap.hpp>
#include <det/transport/ucx.hpp>

#include "meeting_ranks.hpp"
#include "ucx_devices.hpp"

using namespace det;
using namespace det::transport;

namespace {

struct Meet : MeetingPlace {
    Result<std::unique_ptr<Transport>> open(Rank rank, int size, UcxOptions options = {}) const {
        DET_TRY_ASSIGN(auto meeting, bootstrap(rank, size));
        options.local_ranks = size;
        return open_ucx_transport(std::move(meeting), std::move(options));
    }
};

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
            return run_suite(*transport);
        }));
    }
}

BOOST_AUTO_TEST_CASE(who_waits_for_a_rank_that_was_killed_gets_an_error_that_names_it) {
    for (auto const* tls : {"tcp,self", "all"}) {
        BOOST_TEST_CONTEXT(tls) {
            Meet const meet;
            check_that_a_killed_rank_is_an_error([&](Rank rank, int size) {
                ::setenv("UCX_TLS", tls, 1);
                return meet.open(rank, size);
            });
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
