#include <det/protocol/meeting.hpp>

#include <boost/test/unit_test.hpp>

#include "check_result.hpp"

using namespace det;

BOOST_AUTO_TEST_SUITE(meeting_test)

BOOST_AUTO_TEST_CASE(a_meeting_is_read_as_it_was_written) {
    Meeting const before{"a secret"};
    Meeting const after{"a secret", Endpoint{"fd00::1", 41'234}};
    BOOST_TEST((must(parse_meeting(render_meeting(before))) == before));
    BOOST_TEST((must(parse_meeting(render_meeting(after))) == after));
}

BOOST_AUTO_TEST_CASE(a_meeting_without_a_secret_is_damaged) {
    auto const error = must_fail(parse_meeting(render_document(meeting_document, Json::object())));
    BOOST_TEST((error.code == codes::damaged));
}

BOOST_AUTO_TEST_SUITE_END()
