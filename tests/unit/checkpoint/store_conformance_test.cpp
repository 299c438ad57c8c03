#include <det/checkpoint/shared_fs_store.hpp>

#include <boost/test/unit_test.hpp>

#include "../../conformance/store_suite.hpp"
#include "check_result.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace det::checkpoint;

BOOST_AUTO_TEST_SUITE(store_conformance_test)

// The type `directory` uses the same store: only its configuration differs.
BOOST_AUTO_TEST_CASE(a_shared_directory_conforms_to_the_store_interface) {
    TemporaryDirectory const directory;
    SharedFsStore store(directory / "not/there/yet");
    for (auto const& test : store_cases()) {
        BOOST_TEST_CONTEXT(test.name) must(test.run(store));
    }
}

BOOST_AUTO_TEST_SUITE_END()
