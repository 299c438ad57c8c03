#include <det/tracker/index/local_disk.hpp>

#include <boost/test/unit_test.hpp>

#include "check_result.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace det::tracker::index;

BOOST_AUTO_TEST_SUITE(local_disk_test)

BOOST_AUTO_TEST_CASE(file_systems_that_hosts_share_are_known) {
    BOOST_TEST(find_shared_file_system(0x6969).value() == "NFS");
    BOOST_TEST(find_shared_file_system(0x0bd00bd0).value() == "Lustre");
    BOOST_TEST(find_shared_file_system(0x47504653).value() == "GPFS");
}

BOOST_AUTO_TEST_CASE(local_file_systems_are_accepted) {
    for (std::uint32_t const type : {0xef53u /* ext4 */, 0x58465342u /* XFS */, 0x01021994u /* tmpfs */})
        BOOST_TEST(!find_shared_file_system(type));
    TemporaryDirectory const directory;
    must(require_local_disk(directory.path(), ""));
}

BOOST_AUTO_TEST_CASE(a_directory_that_does_not_exist_is_an_error) {
    BOOST_TEST((must_fail(require_local_disk("/does/not/exist", "")).code == codes::no_such_file));
}

BOOST_AUTO_TEST_SUITE_END()
