#include <det/transport/tcp.hpp>

#include "meeting_ranks.hpp"

using namespace det;
using namespace det::transport;

namespace {

struct Meet : MeetingPlace {
    Result<std::unique_ptr<Transport>> open(Rank rank, int size, TcpOptions options = {}) const {
        DET_TRY_ASSIGN(auto meeting, bootstrap(rank, size));
        options.local_ranks = size;
        return open_tcp_transport(std::move(meeting), std::move(options));
    }
};

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
    check_that_a_killed_rank_is_an_error([&](Rank rank, int size) { return meet.open(rank, size); });
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
