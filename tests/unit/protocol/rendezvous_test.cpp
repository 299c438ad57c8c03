#include <det/protocol/json.hpp>
#include <det/protocol/rendezvous.hpp>

#include <boost/test/unit_test.hpp>

#include "check_result.hpp"

using namespace det;

BOOST_AUTO_TEST_SUITE(meeting_test)

BOOST_AUTO_TEST_CASE(a_meeting_is_read_as_it_was_written) {
    Rendezvous const before{"a secret"};
    Rendezvous const after{"a secret", Endpoint{"fd00::1", 41'234}};
    BOOST_TEST((must(parse_rendezvous(render_rendezvous(before))) == before));
    BOOST_TEST((must(parse_rendezvous(render_rendezvous(after))) == after));
}

BOOST_AUTO_TEST_CASE(a_meeting_without_a_secret_is_damaged) {
    auto const error = must_fail(parse_rendezvous(render_document(rendezvous_document, Json::object())));
    BOOST_TEST((error.code == codes::damaged));
}

BOOST_AUTO_TEST_SUITE_END()
