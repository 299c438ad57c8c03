#include <det/foundation/files.hpp>
#include <det/foundation/sync_file.hpp>

#include <boost/test/unit_test.hpp>

#include "check_result.hpp"
#include "temporary_directory.hpp"

using namespace det;

BOOST_AUTO_TEST_SUITE(sync_file_test)

BOOST_AUTO_TEST_CASE(a_sync_thread_reports_the_first_error_once_and_goes_on) {
    TemporaryDirectory directory;
    SyncThread syncs;
    must(syncs.join());  // nothing to do
    syncs.add_directory(directory.path());
    must(syncs.join());
    for (auto const* name : {"absent", ".", "other"}) syncs.add_directory(directory / name);
    auto const failed = syncs.join();
    BOOST_REQUIRE(!failed);
    BOOST_TEST(failed.error().message.find("absent'") != std::string::npos, failed.error().message);
    syncs.add_directory(directory.path());
    must(syncs.join());
}

BOOST_AUTO_TEST_CASE(without_a_sync_thread_a_directory_is_synced_at_once) {
    TemporaryDirectory directory;
    SyncThread syncs;
    must(sync_directory(directory / "absent", &syncs));
    BOOST_TEST(!syncs.join());
    BOOST_TEST(!sync_directory(directory / "absent", nullptr));
    must(sync_directory(directory.path(), nullptr));
}

BOOST_AUTO_TEST_SUITE_END()
