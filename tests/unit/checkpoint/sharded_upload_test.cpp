#include <det/checkpoint/sharded_upload.hpp>
#include <det/checkpoint/shared_fs_store.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/uuid.hpp>
#include <det/protocol/json.hpp>

#include <boost/test/unit_test.hpp>

#include "check_result.hpp"
#include "file_size_limit.hpp"
#include "temporary_directory.hpp"
#include "thread_peers.hpp"
#include "upload_plan.hpp"

using namespace det;
using namespace det::checkpoint;

namespace sharded_upload_test {

std::string refused_metadata(std::vector<Json> const& ranks) {
    return must_fail(merge_metadata(ranks)).message;
}

struct Fixture {
    TemporaryDirectory directory;
    SharedFsStore store{directory / "checkpoints"};
    std::string const uuid = make_uuid();

    std::filesystem::path source(int rank) const {
        auto const path = directory / ("rank-" + std::to_string(rank));
        must(make_directories(path));
        return path;
    }
    Result<std::optional<CheckpointManifest>> upload(Peers& peers, Upload const& upload) {
        return upload_sharded(peers, store, upload, {uuid, "7.0.0", 5, UtcTime{1}, 2, {}},
                              [] { return Status(Ok{}); });
    }
};

}  // namespace sharded_upload_test

BOOST_FIXTURE_TEST_SUITE(sharded_upload_test, Fixture)

BOOST_AUTO_TEST_CASE(metadata_of_all_ranks_is_merged_and_conflicting_keys_are_named) {
    BOOST_TEST(must(merge_metadata({Json{{"a", 1}}, Json{{"b", 2}}})) == (Json{{"a", 1}, {"b", 2}}));
    BOOST_TEST(must(merge_metadata({Json{{"a", 1}}, Json{{"a", 1}}})) == (Json{{"a", 1}}));
    BOOST_TEST(must(merge_metadata({Json{{"a", {{"c", 1}}}}, Json{{"a", {{"d", 1}}}}})) ==
               (Json{{"a", {{"c", 1}, {"d", 1}}}}));
    constexpr char conflict[] = "refusing to upload with metadata conflicts: /a";
    BOOST_TEST(refused_metadata({Json{{"a", Json::array({1})}}, Json{{"a", Json::array({2})}}}) == conflict);
    BOOST_TEST(refused_metadata({Json{{"a", Json::array()}}, Json{{"a", 1}}}) == conflict);
    BOOST_TEST(refused_metadata({Json{{"a", {{"c", 1}}}}, Json{{"a", 1}}}) == conflict);
    BOOST_TEST(refused_metadata({Json{{"a", {{"b", 1}}}}, Json{{"a", {{"b", 2}}}}}) ==
               conflict + std::string("/b"));
}

BOOST_AUTO_TEST_CASE(equal_files_are_uploaded_once_and_different_files_of_one_name_are_refused) {
    auto const plan =
        must(plan_uploads({{{"d/", ""}, {"d/x", "1"}}, {{"d/", ""}, {"d/x", "1"}, {"y", "2"}}}));
    BOOST_TEST((plan == std::vector<std::vector<std::string>>{{"d/", "d/x"}, {"y"}}));
    auto const refusal = [](std::vector<Uploads> const& ranks) {
        return must_fail(plan_uploads(ranks)).message;
    };
    BOOST_TEST(refusal({{{"x", "1"}}, {{"x", "2"}}}) == "refusing to upload with files conflicts: x");
    BOOST_TEST(refusal({{{"x", ""}}, {{"x/", ""}}}) == "refusing to upload with files conflicts: x");
    BOOST_TEST(refusal({{{"x", ""}}, {{"x/y", ""}}}) == "refusing to upload with files conflicts: x");
}

BOOST_AUTO_TEST_CASE(files_of_all_ranks_become_one_checkpoint) {
    std::atomic<int> well = 0;
    as_ranks(3, [&](ThreadPeers& peers) {
        auto const rank = std::to_string(peers.rank());
        Upload own;
        own.metadata = Json{{"ranks", {{rank, true}}}};
        if (peers.rank() < 2) {
            own.directory = source(peers.rank());
            must(make_directories(*own.directory / "shards"));
            must(write_file(*own.directory / "shards" / rank, rank));
            must(write_file(*own.directory / "common", "the same"));
            must(write_file(*own.directory / "skipped.log", rank));
            own.selector = [](auto const& path) { return !path.ends_with(".log"); };
        }
        auto const uploaded = upload(peers, own);
        well += uploaded && uploaded->has_value() == peers.is_chief() ? 1 : 0;
    });
    BOOST_TEST(well == 3);
    auto const manifest = must(store.verify_on_disk(uuid));
    BOOST_TEST(resources_of(manifest).size() == 5u);
    BOOST_TEST(resources_of(manifest)["shards/1"] == 1);
    BOOST_TEST(manifest.metadata == parse_json(R"({"ranks": {"0": true, "1": true, "2": true}})"));
}

BOOST_AUTO_TEST_CASE(a_conflict_is_an_error_on_all_ranks_and_leaves_no_checkpoint) {
    std::atomic<int> refused = 0, empty = 0;
    as_ranks(2, [&](ThreadPeers& peers) {
        Upload own;
        own.directory = source(peers.rank());
        must(write_file(*own.directory / "weights", std::to_string(peers.rank())));
        auto const uploaded = upload(peers, own);
        refused += !uploaded && uploaded.error().message == "refusing to upload with files conflicts: weights"
                       ? 1
                       : 0;
        auto const nothing = upload(peers, {});
        empty += !nothing && nothing.error().code == codes::misuse ? 1 : 0;
    });
    BOOST_TEST(refused == 2);
    BOOST_TEST(empty == 2);
    BOOST_TEST((must_fail(store.load_manifest(uuid)).code == codes::no_such_checkpoint));
}

BOOST_AUTO_TEST_CASE(a_common_directory_is_uploaded_once_unless_ranks_have_selectors) {
    auto const shared = source(0);
    must(write_file(shared / "a", "1"));
    must(write_file(shared / "b", "2"));
    for (bool const selects : {false, true}) {
        must(store.remove(uuid));
        std::atomic<int> well = 0;
        as_ranks(2, [&](ThreadPeers& peers) {
            Upload own;
            own.directory = shared;
            auto const wanted = peers.rank() == 0 ? "a" : "b";
            if (selects) own.selector = [wanted](auto const& path) { return path == wanted; };
            well += upload(peers, own).has_value() ? 1 : 0;
        });
        BOOST_TEST(well == 2);
        BOOST_TEST(must(store.verify_on_disk(uuid)).files.size() == 3u);
    }
}

BOOST_AUTO_TEST_CASE(files_in_the_directory_of_the_checkpoint_are_not_copied) {
    std::atomic<int> well = 0;
    as_ranks(2, [&](ThreadPeers& peers) {
        Upload own;
        own.directory = must(store.create_directory(uuid));
        must(make_directories(*own.directory / "shards/empty"));
        must(write_file(*own.directory / "shards" / std::to_string(peers.rank()), "x"));
        well += upload(peers, own).has_value() ? 1 : 0;
    });
    BOOST_TEST(well == 2);
    auto const manifest = must(store.verify_on_disk(uuid));
    BOOST_TEST(manifest.files.size() == 3u);
    BOOST_TEST((manifest.directories == std::vector<std::string>{"shards", "shards/empty"}));
}

BOOST_AUTO_TEST_CASE(an_error_of_one_rank_is_the_error_of_all_ranks_and_leaves_no_files) {
    std::atomic<int> failed = 0;
    as_ranks(2, [&](ThreadPeers& peers) {
        Upload own;
        own.directory = must(store.create_directory(uuid));
        must(write_file(*own.directory / std::to_string(peers.rank()), "x"));
        if (peers.rank() == 1) own.trouble = Error{codes::file_system, "no space left on device"};
        auto const uploaded = upload(peers, own);
        failed += !uploaded && uploaded.error().message == "no space left on device" ? 1 : 0;
    });
    BOOST_TEST(failed == 2);
    BOOST_TEST(must(store.list()).empty());
}

BOOST_AUTO_TEST_CASE(a_file_is_copied_again_when_the_storage_has_space) {
    WriteRetry retry{std::chrono::minutes(1), std::chrono::milliseconds(10)};
    std::optional<FileSizeLimit> full;
    retry.on_first = [&](Error const&) { full.reset(); };
    store.set_write_retry(retry);
    as_ranks(1, [&](ThreadPeers& peers) {
        Upload own;
        own.directory = source(0);
        must(write_file(*own.directory / "weights", std::string(100'000, 'w')));
        full.emplace(50'000);
        must(upload(peers, own));
    });
    BOOST_TEST(!full.has_value());
    BOOST_TEST(must(store.fetch_and_verify(uuid)).manifest.files.size() == 2u);
}

BOOST_AUTO_TEST_SUITE_END()
