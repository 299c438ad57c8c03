#include <boost/test/unit_test.hpp>
#include <limits>

#include "../../conformance/transport_suite.hpp"
#include "rank_threads.hpp"

using namespace det;
using namespace det::transport;

namespace local_test {

void run_suite(int ranks, ThreadTransportOptions options) {
    for (auto const& test : transport_cases()) {
        BOOST_TEST_CONTEXT(test.name << ", " << ranks << " ranks, eager " << options.eager_limit_bytes) {
            check_ranks(run_ranks(
                ranks, [&](auto transport) { return test.run(*transport); }, options));
        }
    }
}

}  // namespace local_test

BOOST_AUTO_TEST_SUITE(local_test)

BOOST_AUTO_TEST_CASE(it_conforms_if_small_messages_are_buffered) {
    for (int const ranks : {1, 2, 4}) run_suite(ranks, {});
}

BOOST_AUTO_TEST_CASE(it_conforms_if_only_empty_messages_are_buffered) {
    for (int const ranks : {1, 3}) run_suite(ranks, {.eager_limit_bytes = 0});
}

BOOST_AUTO_TEST_CASE(it_conforms_if_no_send_waits) {
    run_suite(2, {.eager_limit_bytes = std::numeric_limits<std::size_t>::max()});
}

BOOST_AUTO_TEST_CASE(a_wait_for_a_rank_that_left_is_an_error_that_names_it) {
    auto const results = run_ranks(3, [](auto transport) -> Status {
        if (transport->rank().value == 1) return Ok{};
        std::byte byte{};
        DET_TRY(transport->receive({1}, Tag{5}, std::span(&byte, 1)));
        return Ok{};
    });
    BOOST_TEST(results[1].has_value());
    for (std::size_t const rank : {0u, 2u}) {
        BOOST_REQUIRE(!results[rank].has_value());
        BOOST_TEST(results[rank].error().message.starts_with("rank 1 has left"));
    }
}

BOOST_AUTO_TEST_CASE(a_send_to_a_rank_that_left_is_an_error_at_any_size) {
    auto group = make_thread_transports(2);
    group[1]->abandon();
    std::vector<std::byte> const bytes(100'000);
    BOOST_TEST(!group[0]->send({1}, Tag{1}, bytes).has_value());
    BOOST_TEST(!group[0]->send({1}, Tag{1}, {}).has_value());
}

BOOST_AUTO_TEST_CASE(messages_of_a_rank_that_left_are_still_received) {
    auto group = make_thread_transports(2);
    std::byte sent{42}, received{};
    BOOST_TEST(group[1]->send({0}, Tag{1}, std::span(&sent, 1)).has_value());
    group[1].reset();
    BOOST_TEST(group[0]->receive({1}, Tag{1}, std::span(&received, 1)).has_value());
    BOOST_TEST((received == sent));
}

BOOST_AUTO_TEST_SUITE_END()
