#include <det/checkpoint/shared_fs_store.hpp>
#include <det/foundation/bytes.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/uuid.hpp>
#include <det/protocol/json.hpp>

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <map>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check_result.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace det::checkpoint;

namespace shared_fs_store_test {

struct Fixture {
    TemporaryDirectory directory;
    SharedFsStore store{directory / "checkpoints"};
    std::string uuid = make_uuid();

    static Status yes() { return Ok{}; }
    SharedFsStore::Description description() const {
        return {uuid, "7.0.0", 100, UtcTime{1}, 8, Json{{"steps_completed", 100}}};
    }
    /// A checkpoint with two shards, one of them in a directory.
    CheckpointManifest written() {
        auto const path = must(store.create_directory(uuid));
        must(make_directory(path / "shards"));
        must(make_directory(path / "empty"));
        must(write_file(path / "shards/rank-0.bin", std::string(3'000'000, 'a')));
        must(write_file(path / "weights.bin", "bytes"));
        return must(store.commit(description(), yes));
    }
};

/// So many of the next syncs of directories fail.
std::atomic<int> failing_directory_syncs = 0;

}  // namespace shared_fs_store_test

extern "C" int fsync(int fd) {
    struct stat info {};
    bool const is_directory = ::fstat(fd, &info) == 0 && S_ISDIR(info.st_mode);
    auto& failing = shared_fs_store_test::failing_directory_syncs;
    if (is_directory && failing > 0) {
        --failing;
        errno = EIO;
        return -1;
    }
    return static_cast<int>(::syscall(SYS_fsync, fd));
}

BOOST_FIXTURE_TEST_SUITE(shared_fs_store_test, Fixture)

BOOST_AUTO_TEST_CASE(a_directory_that_cannot_be_synced_now_is_synced_later) {
    for (int failures : {1, 4}) {
        SharedFsStore patient{directory / "checkpoints"};
        patient.set_write_retry({std::chrono::minutes(1), std::chrono::milliseconds(1)});
        uuid = make_uuid();
        auto const path = must(patient.create_directory(uuid));
        must(make_directory(path / "shards"));
        must(write_file(path / "shards/rank-0.bin", "bytes"));
        failing_directory_syncs = failures;
        must(patient.commit(description(), yes));
        BOOST_TEST(failing_directory_syncs == 0);
        BOOST_TEST(must(store.verify_on_disk(uuid)).files.size() == 2u);  // with the metadata
    }
}

BOOST_AUTO_TEST_CASE(a_committed_checkpoint_is_found_and_verified) {
    auto const manifest = written();
    BOOST_TEST((must(store.load_manifest(uuid)) == manifest));
    BOOST_TEST((must(store.verify_on_disk(uuid)) == manifest));
    BOOST_TEST(manifest.files.size() == 3u);  // with metadata.json
    BOOST_TEST(manifest.files[1].path == "shards/rank-0.bin");
    BOOST_TEST(manifest.directories == (std::vector<std::string>{"empty", "shards"}),
               boost::test_tools::per_element());
    BOOST_TEST(parse_json(must(read_file(store.path_of(uuid) / "metadata.json"))).at("steps_completed") ==
               100);
}

BOOST_AUTO_TEST_CASE(files_without_a_manifest_are_no_checkpoint) {
    auto const path = must(store.create_directory(uuid));
    must(write_file(path / "weights.bin", "bytes"));
    BOOST_TEST((must_fail(store.load_manifest(uuid)).code == codes::no_such_checkpoint));
    auto const fenced = [] { return Status(Error{codes::superseded, "a newer run continues"}); };
    BOOST_TEST((must_fail(store.commit(description(), fenced)).code == codes::superseded));
    BOOST_TEST((must_fail(store.load_manifest(uuid)).code == codes::no_such_checkpoint));
}

BOOST_AUTO_TEST_CASE(every_kind_of_damage_is_detected_and_named) {
    written();
    auto const shard = store.path_of(uuid) / "shards/rank-0.bin";
    auto bytes = must(read_file(shard));
    bytes[1'500'000] = 'b';
    must(write_file(shard, bytes));
    auto const error = must_fail(store.verify_on_disk(uuid));
    BOOST_TEST((error.code == codes::checkpoint_damaged));
    BOOST_TEST(error.message.find("shards/rank-0.bin") != std::string::npos);
    must(write_file(shard, bytes.substr(1)));
    BOOST_TEST((must_fail(store.verify_on_disk(uuid)).code == codes::checkpoint_damaged));
    must(remove_tree(shard));
    BOOST_TEST((must_fail(store.verify_on_disk(uuid)).code == codes::checkpoint_damaged));
    must(write_file(store.path_of(uuid) / "manifest", "{"));
    BOOST_TEST((must_fail(store.load_manifest(uuid)).code == codes::checkpoint_damaged));
}

BOOST_AUTO_TEST_CASE(files_of_every_size_are_read_to_their_end) {
    auto const path = must(store.create_directory(uuid));
    constexpr std::size_t page = 4096, read = std::size_t{4} << 20;
    std::map<std::string, std::string> contents;
    for (auto const size : {std::size_t{0}, page - 1, page, page + 1, read - 1, read, read + 1})
        contents[std::to_string(size)] = std::string(size, 'a');
    for (auto const& [name, bytes] : contents) must(write_file(path / name, bytes));
    auto const manifest = must(store.commit(description(), yes));
    for (auto const& file : manifest.files) {
        if (!contents.contains(file.path)) continue;  // metadata.json
        BOOST_TEST(file.size_bytes == contents[file.path].size());
        BOOST_TEST(file.crc32c == crc32c(contents[file.path]));
    }
    BOOST_TEST((must(store.verify_on_disk(uuid)) == manifest));
    BOOST_TEST((must(store.fetch_and_verify(uuid)).manifest == manifest));
}

BOOST_AUTO_TEST_CASE(a_manifest_that_points_outside_is_refused) {
    auto manifest = written();
    manifest.files[0].path = "../../secret";
    must(write_file(store.path_of(uuid) / "manifest", render_manifest(manifest)));
    BOOST_TEST((must_fail(store.load_manifest(uuid)).code == codes::checkpoint_damaged));
    BOOST_TEST((must_fail(store.load_manifest("../escape")).code == codes::no_such_checkpoint));
}

BOOST_AUTO_TEST_CASE(the_same_manifest_may_be_published_again_and_no_other) {
    must(store.create_directory(uuid));
    auto manifest = must(store.commit(description(), yes));
    must(store.publish(manifest, yes));  // as after a failed sync of its directory
    manifest.steps_completed += 1;
    BOOST_TEST((must_fail(store.publish(manifest, yes)).code == codes::bad_value));
}

BOOST_AUTO_TEST_CASE(a_link_in_a_checkpoint_is_refused) {
    auto const path = must(store.create_directory(uuid));
    std::filesystem::create_symlink("/etc/passwd", path / "link");
    BOOST_TEST((must_fail(store.commit(description(), yes)).code == codes::bad_value));
}

BOOST_AUTO_TEST_CASE(a_file_with_the_name_of_the_manifest_is_refused) {
    auto const path = must(store.create_directory(uuid));
    must(write_file(path / "manifest", "mine"));
    BOOST_TEST((must_fail(store.commit(description(), yes)).code == codes::bad_value));
}

BOOST_AUTO_TEST_SUITE_END()
