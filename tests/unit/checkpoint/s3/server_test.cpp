// The store with the server s3rver, which does not check signatures: sigv4_test does.
#include <det/checkpoint/s3/s3_store.hpp>
#include <det/checkpoint/sharded_upload.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/uuid.hpp>
#include <det/protocol/json.hpp>

#include <boost/test/unit_test.hpp>

#include "../../../conformance/store_suite.hpp"
#include "check_result.hpp"
#include "fake_clock.hpp"
#include "s3_server.hpp"
#include "temporary_directory.hpp"
#include "test_paths.hpp"
#include "thread_peers.hpp"

using namespace det;
using namespace det::checkpoint::s3;

namespace s3_server_test {

struct Fixture {
    static S3Server& server() {
        static S3Server one;
        return one;
    }
    TemporaryDirectory staging;
    Options options{.bucket = "det",
                    .prefix = "experiments/7",
                    .endpoint_url = server().endpoint(),
                    .credentials = {"S3RVER", "S3RVER"},
                    .staging = staging.path(),
                    .modules = {det::test::built_path("lib/det_libcurl.so")},
                    .part_size_bytes = std::size_t{5} << 20};
};

}  // namespace s3_server_test

BOOST_FIXTURE_TEST_SUITE(s3_server_test, Fixture)

BOOST_AUTO_TEST_CASE(a_bucket_conforms_to_the_store_interface) {
    {
        auto const store = must(open_s3_store(options));
        for (auto const& test : checkpoint::store_cases()) {
            BOOST_TEST_CONTEXT(test.name) must(test.run(*store));
        }
    }
    BOOST_TEST(std::filesystem::is_empty(staging.path()));
}

BOOST_AUTO_TEST_CASE(the_manifest_has_the_sha256_of_each_part_and_files_are_compared_with_it) {
    auto const store = must(open_s3_store(options));
    auto const uuid = make_uuid();
    auto const directory = must(store->create_directory(uuid));
    must(write_file(directory / "empty", ""));
    must(write_file(directory / "small", "abc"));
    must(write_file(directory / "two parts", std::string(options.part_size_bytes, 'a') + "abc"));
    auto manifest =
        must(store->commit({uuid, "7.0.0", 5, UtcTime{1}, 1, Json::object()}, [] { return Status(Ok{}); }));
    // Of "abc", from FIPS 180-2.
    std::string const abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    BOOST_REQUIRE(manifest.files.size() == 4u);
    BOOST_TEST(manifest.files[0].part_sha256.empty());
    BOOST_TEST(manifest.files[2].part_sha256 == std::vector{abc}, boost::test_tools::per_element());
    BOOST_REQUIRE(manifest.files[3].part_sha256.size() == 2u);
    BOOST_TEST(manifest.files[3].part_sha256[1] == abc);
    BOOST_TEST((must(store->load_manifest(uuid)) == manifest));
    must(store->verify_on_disk(uuid));

    // As if the file had been replaced by another one with the same CRC.
    manifest.files[3].part_sha256[0][0] ^= 1;
    must(store->write_manifest(manifest, render_manifest(manifest), [] { return Status(Ok{}); }));
    auto const error = must_fail(store->fetch(manifest, [](std::string const&) { return true; }));
    BOOST_TEST((error.code == codes::checkpoint_damaged));
    BOOST_TEST(error.message.find("the SHA-256 of 'two parts' does not match") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(wrong_credentials_are_refused_with_the_message_of_the_server) {
    options.credentials.access_key = "stranger";
    auto const store = must(open_s3_store(options));
    auto const error = must_fail(store->list());
    BOOST_TEST((error.code == codes::transport));
    BOOST_TEST(error.message.find("InvalidAccessKeyId") != std::string::npos, error.message);
}

BOOST_AUTO_TEST_CASE(requests_to_a_silent_server_are_retried_and_then_fail) {
    FakeClock clock;
    int pauses = 0;
    clock.on_sleep = [&](auto) { ++pauses; };
    options.endpoint_url = "http://127.0.0.1:1";
    options.clock = &clock;
    auto const store = must(open_s3_store(options));
    BOOST_TEST((must_fail(store->list()).code == codes::transport));
    BOOST_TEST(pauses == 5);
}

BOOST_AUTO_TEST_CASE(ranks_with_separate_directories_write_one_checkpoint) {
    auto const uuid = make_uuid();
    std::atomic<int> well = 0;
    as_ranks(2, [&](ThreadPeers& peers) {
        auto const store = must(open_s3_store(options));
        checkpoint::Upload own;
        own.directory = must(store->create_directory(uuid));
        must(make_directory(*own.directory / "shards"));
        must(write_file(*own.directory / "shards" / std::to_string(peers.rank()), "shard"));
        must(write_file(*own.directory / "common", "the same"));
        auto const uploaded = checkpoint::upload_sharded(
            peers, *store, own, {uuid, "7.0.0", 5, UtcTime{1}, 2, {}}, [] { return Status(Ok{}); });
        well += uploaded && uploaded->has_value() == peers.is_chief() ? 1 : 0;
    });
    BOOST_TEST(well == 2);
    auto const whole = must(must(open_s3_store(options))->verify_on_disk(uuid));
    BOOST_TEST(whole.files.size() == 4u);
    BOOST_TEST((whole.directories == std::vector<std::string>{"shards"}));
    BOOST_TEST(std::filesystem::is_empty(staging.path()));
}

BOOST_AUTO_TEST_SUITE_END()
