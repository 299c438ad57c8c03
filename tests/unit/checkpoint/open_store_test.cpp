#include <det/checkpoint/open_store.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/uuid.hpp>

#include <boost/test/unit_test.hpp>

#include "check_result.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace det::checkpoint;

namespace {

ExperimentSpec spec_of(std::string const& type, std::string const& path) {
    ExperimentSpec spec;
    spec.checkpoint_path = path;
    if (!type.empty()) spec.config = {{"checkpoint_storage", {{"type", type}}}};
    return spec;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(open_store_test)

BOOST_AUTO_TEST_CASE(storage_that_is_a_directory_lies_in_that_directory) {
    TemporaryDirectory const directory;
    for (std::string const type : {"", "shared_fs", "directory"}) {
        auto const store = must(open_store(spec_of(type, directory / "checkpoints")));
        auto const uuid = make_uuid();
        BOOST_TEST(must(store->open(uuid)) == directory / "checkpoints" / uuid);
    }
}

BOOST_AUTO_TEST_CASE(storage_that_there_is_no_store_of_is_named) {
    for (std::string const type : {"s3", "gcs", "azure"}) {
        auto const error = must_fail(open_store(spec_of(type, "")));
        BOOST_TEST((error.code == codes::not_supported));
        BOOST_TEST(error.message.find("'" + type + "'") != std::string::npos);
    }
}

BOOST_AUTO_TEST_SUITE_END()
