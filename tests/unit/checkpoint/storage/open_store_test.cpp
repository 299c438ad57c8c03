#include <det/checkpoint/storage/open_store.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/uuid.hpp>
#include <det/protocol/directory_layout.hpp>
#include <det/protocol/json.hpp>

#include <boost/test/unit_test.hpp>

#include "check_result.hpp"
#include "temporary_directory.hpp"
#include "test_paths.hpp"

using namespace det;
using namespace det::checkpoint::storage;

namespace open_store_test {

/// The environment has no AWS settings of this machine, and names the directory of the module.
struct Fixture {
    TemporaryDirectory directory;
    Environment environment{
        {{"HOME", directory.path().string()}, {"DET_MODULES", det::test::built_path("lib")}}};

    ExperimentSpec spec_of(Json storage) const {
        ExperimentSpec spec;
        spec.id = {7};
        spec.root = directory.path().string();
        spec.checkpoint_path = directory / "checkpoints";
        spec.config = Json{{"checkpoint_storage", std::move(storage)}};
        return spec;
    }
    ExperimentSpec s3() const {
        return spec_of({{"type", "s3"}, {"bucket", "b"}, {"prefix", "/a/./c"}, {"endpoint_url", nullptr}});
    }
    void write_secrets(Json const& storage) const {
        auto const file = ExperimentLayout(RootLayout(directory.path()), {7}).secrets();
        must(make_directories(file.parent_path()));
        must(write_file(file, Json{{"checkpoint_storage", storage}}.dump()));
    }
};

}  // namespace open_store_test

BOOST_FIXTURE_TEST_SUITE(open_store_test, Fixture)

BOOST_AUTO_TEST_CASE(shared_fs_and_directory_open_their_directory) {
    for (auto const& storage : {Json(), Json{{"type", "shared_fs"}}, Json{{"type", "directory"}}}) {
        auto const store = must(open_store(spec_of(storage), environment));
        auto const uuid = make_uuid();
        BOOST_TEST(must(store->create_directory(uuid)) == directory / "checkpoints" / uuid);
        BOOST_TEST(store->address_of(uuid) == directory / "checkpoints" / uuid);
    }
}

BOOST_AUTO_TEST_CASE(a_storage_type_without_a_store_is_an_error_that_names_it) {
    for (std::string const type : {"gcs", "azure"}) {
        auto const error = must_fail(open_store(spec_of({{"type", type}}), environment));
        BOOST_TEST((error.code == codes::not_supported));
        BOOST_TEST(error.message.find("'" + type + "'") != std::string::npos);
    }
}

BOOST_AUTO_TEST_CASE(a_bucket_opens_with_the_credentials_of_the_experiment_or_of_the_user) {
    auto const closed = must_fail(open_store(s3(), environment));
    BOOST_TEST((closed.code == codes::permission));
    write_secrets({{"access_key", "a"}, {"secret_key", "s"}});
    auto const store = must(open_store(s3(), environment));
    BOOST_TEST(store->address_of("7") == "s3://b/a/c/7");
    write_secrets({{"access_key", "a"}});
    BOOST_TEST((must_fail(open_store(s3(), environment)).code == codes::permission));
    must(remove_tree(directory / "experiments"));
    environment.set("AWS_ACCESS_KEY_ID", "a");
    environment.set("AWS_SECRET_ACCESS_KEY", "s");
    BOOST_TEST(open_store(s3(), environment).has_value());
}

BOOST_AUTO_TEST_CASE(staged_files_are_in_the_local_directory_of_the_node) {
    write_secrets({{"access_key", "a"}, {"secret_key", "s"}});
    environment.set("TMPDIR", "/nowhere");
    must(make_directory(directory / "local"));
    environment.set("DET_LOCAL_DIR", directory / "local");
    auto const store = must(open_store(s3(), environment));
    auto const uuid = make_uuid();
    BOOST_TEST(must(store->create_directory(uuid)).string().starts_with((directory / "local/").string()));
}

BOOST_AUTO_TEST_CASE(experiments_with_the_same_storage_location_are_recognised) {
    auto other = s3();
    other.id = {8};
    BOOST_TEST(storage_identity(other) == storage_identity(s3()));
    (*other.config)["checkpoint_storage"]["prefix"] = "a/d";
    BOOST_TEST(storage_identity(other) != storage_identity(s3()));
    BOOST_TEST(storage_identity(spec_of(Json())) == (directory / "checkpoints").string());
}

BOOST_AUTO_TEST_SUITE_END()
