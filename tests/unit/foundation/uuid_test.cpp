#include <det/foundation/uuid.hpp>

#include <boost/test/unit_test.hpp>

using namespace det;

BOOST_AUTO_TEST_SUITE(uuid_test)

BOOST_AUTO_TEST_CASE(uuids_are_version_four_and_never_twice_the_same) {
    auto const uuid = make_uuid();
    BOOST_TEST(is_uuid(uuid), uuid);
    BOOST_TEST(uuid[14] == '4');
    BOOST_TEST(uuid != make_uuid());
    BOOST_TEST(!is_uuid("../../../../../../../../../../etc/passwd"));
    BOOST_TEST(!is_uuid("ABCDEF00-0000-4000-8000-000000000000"));
}

BOOST_AUTO_TEST_SUITE_END()
