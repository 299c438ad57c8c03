#include <det/protocol/json.hpp>
#include <det/protocol/rendezvous_file.hpp>

#include <boost/test/unit_test.hpp>

#include "check_result.hpp"

using namespace det;

BOOST_AUTO_TEST_SUITE(rendezvous_file_test)

BOOST_AUTO_TEST_CASE(a_rendezvous_file_is_read_as_it_was_written) {
    RendezvousFile const before{"a secret"};
    RendezvousFile const after{"a secret", Endpoint{"fd00::1", 41'234}};
    RendezvousFile const with_ranks{"a secret", Endpoint{"fd00::1", 41'234}, 16};
    BOOST_TEST((must(parse_rendezvous_file(render_rendezvous_file(before))) == before));
    BOOST_TEST((must(parse_rendezvous_file(render_rendezvous_file(after))) == after));
    BOOST_TEST((must(parse_rendezvous_file(render_rendezvous_file(with_ranks))) == with_ranks));
}

BOOST_AUTO_TEST_CASE(a_rendezvous_file_without_a_secret_is_damaged) {
    auto const error = must_fail(parse_rendezvous_file(render_document(rendezvous_document, Json::object())));
    BOOST_TEST((error.code == codes::damaged));
}

BOOST_AUTO_TEST_SUITE_END()
