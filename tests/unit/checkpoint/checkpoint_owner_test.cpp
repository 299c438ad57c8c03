// Who wrote a checkpoint: the SHA-256 that a journal has recorded, and the owners of its files.
#include <det/checkpoint/shared_fs_store.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/uuid.hpp>
#include <det/protocol/json.hpp>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

#include "check_result.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace det::checkpoint;

namespace checkpoint_owner_test {

namespace fs = std::filesystem;

constexpr uid_t other_user = 4242;

struct Fixture {
    TemporaryDirectory directory;
    SharedFsStore store{directory / "checkpoints"};
    std::string uuid = make_uuid();
    fs::path path = must(store.create_directory(uuid));
    CheckpointManifest manifest;

    Fixture() {
        must(make_directory(path / "shards"));
        must(write_file(path / "shards/weights", "bytes", 0666));
        fs::permissions(path, fs::perms(0777));
        fs::permissions(path / "shards", fs::perms(0777));
        manifest = must(
            store.commit({uuid, "7.0.0", 100, UtcTime{1}, 1, Json::object()}, [] { return Status(Ok{}); }));
    }

    void record(std::vector<std::string> const& sums) {
        store.set_recorded_sums([sums](std::string const&, std::string const&) { return Result(sums); });
    }
    static mode_t mode_of(fs::path const& file) {
        struct stat info {};
        BOOST_REQUIRE(::stat(file.c_str(), &info) == 0);
        return info.st_mode & 0777;
    }
};

bool runs_as_root() {
    if (::geteuid() == 0) return true;
    BOOST_TEST_MESSAGE("SKIPPED: only root can give a file to another user");
    return false;
}

}  // namespace checkpoint_owner_test

BOOST_FIXTURE_TEST_SUITE(checkpoint_owner_test, Fixture)

BOOST_AUTO_TEST_CASE(a_manifest_that_no_journal_has_recorded_is_not_loaded) {
    record({manifest.sha256});
    BOOST_TEST(must(store.load_manifest(uuid)).sha256 == manifest.sha256);
    record({"older", manifest.sha256});  // files were removed from the checkpoint later
    must(store.fetch_and_verify(uuid));
    record({});  // an older program has written the record
    must(store.fetch_and_verify(uuid));

    record({std::string(64, '0')});
    for (auto const& error : {must_fail(store.load_manifest(uuid)), must_fail(store.fetch_and_verify(uuid)),
                              must_fail(store.verify_on_disk(uuid)),
                              must_fail(store.download(uuid, nullptr, directory / "copy"))}) {
        BOOST_TEST((error.code == codes::checkpoint_replaced));
        BOOST_TEST(error.message.find("is not the checkpoint that this run wrote") != std::string::npos);
        BOOST_TEST((error.code.exit == ExitCode::damaged));
    }
    BOOST_TEST(!path_exists(directory / "copy"));
}

BOOST_AUTO_TEST_CASE(a_sum_from_elsewhere_takes_the_place_of_the_journals) {
    record({std::string(64, '0')});
    store.expect_sum(uuid, manifest.sha256);
    must(store.load_manifest(uuid));
}

BOOST_AUTO_TEST_CASE(a_commit_takes_the_permission_to_write_away_from_others) {
    BOOST_TEST(mode_of(path) == 0755u);
    BOOST_TEST(mode_of(path / "shards") == 0755u);
    BOOST_TEST(mode_of(path / "shards/weights") == 0644u);
    must(store.fetch_and_verify(uuid));
}

BOOST_AUTO_TEST_CASE(a_checkpoint_that_all_users_can_write_is_not_used) {
    for (auto const& each : {path, path / "shards", path / "shards/weights", path / "manifest"}) {
        auto const usual = mode_of(each);
        fs::permissions(each, fs::perms(usual | S_IWOTH));
        auto const error = must_fail(store.fetch_and_verify(uuid));
        BOOST_TEST((error.code == codes::checkpoint_not_yours), each);
        BOOST_TEST(error.message.find(each.string()) != std::string::npos, error.message);
        fs::permissions(each, fs::perms(usual));
    }
    must(store.fetch_and_verify(uuid));
}

BOOST_AUTO_TEST_CASE(a_checkpoint_of_another_user_is_used_only_if_he_is_trusted) {
    if (!runs_as_root()) return;
    for (auto const& each : {path, path / "shards", path / "shards/weights", path / "manifest"}) {
        BOOST_REQUIRE(::chown(each.c_str(), other_user, 0) == 0);
        auto const error = must_fail(store.fetch_and_verify(uuid));
        BOOST_TEST((error.code == codes::checkpoint_not_yours), each);
        BOOST_TEST(error.message.find("belongs to 4242") != std::string::npos, error.message);
        BOOST_TEST(error.hint.find("--trust-owner 4242") != std::string::npos, error.hint);
        SharedFsStore trusting(directory / "checkpoints");
        trusting.trust_owner(uuid, other_user);
        must(trusting.fetch_and_verify(uuid));
        trusting.trust_owner(uuid, other_user + 1);
        BOOST_TEST((must_fail(trusting.fetch_and_verify(uuid)).code == codes::checkpoint_not_yours));
        BOOST_REQUIRE(::chown(each.c_str(), 0, 0) == 0);
    }
}

BOOST_AUTO_TEST_CASE(a_checkpoint_that_another_user_puts_in_the_place_of_a_recorded_one_is_replaced) {
    if (!runs_as_root()) return;
    record({manifest.sha256});
    BOOST_REQUIRE(::chown(path.c_str(), other_user, 0) == 0);
    BOOST_TEST((must_fail(store.load_manifest(uuid)).code == codes::checkpoint_replaced));
}

BOOST_AUTO_TEST_CASE(a_link_in_place_of_a_manifest_is_damage_and_one_in_place_of_a_checkpoint_is_none) {
    fs::rename(path / "manifest", path / "other");
    fs::create_symlink("other", path / "manifest");
    auto const error = must_fail(store.load_manifest(uuid));
    BOOST_TEST((error.code == codes::checkpoint_damaged));
    BOOST_TEST(error.message.find("'manifest' is a symbolic link") != std::string::npos, error.message);
    fs::rename(path, path.string() + ".moved");
    fs::create_symlink(path.string() + ".moved", path);
    BOOST_TEST((must_fail(store.load_manifest(uuid)).code == codes::no_such_checkpoint));
}

BOOST_AUTO_TEST_CASE(missing_and_short_files_are_found_without_reading_them) {
    auto const all = [](std::string const&) { return true; };
    must(store.check_files(manifest, all));
    must(write_file(path / "shards/weights", "byteS"));
    must(store.check_files(manifest, all));  // its bytes are not read
    must(write_file(path / "shards/weights", "byte"));
    auto const is_short = must_fail(store.check_files(manifest, all));
    BOOST_TEST((is_short.code == codes::checkpoint_damaged));
    BOOST_TEST(is_short.message.find("'shards/weights' has 4 bytes in place of 5") != std::string::npos);
    must(remove_tree(path / "shards"));
    BOOST_TEST((must_fail(store.check_files(manifest, all)).code == codes::checkpoint_damaged));
    must(store.check_files(manifest, [](std::string const& file) { return file == "metadata.json"; }));
    fs::create_symlink("/etc", path / "shards");
    BOOST_TEST((must_fail(store.check_files(manifest, all)).code == codes::checkpoint_damaged));
}

BOOST_AUTO_TEST_SUITE_END()
