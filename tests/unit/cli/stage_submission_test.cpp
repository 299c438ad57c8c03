// slurm.stage at submission: which files, with which hashes.
#include <det/foundation/files.hpp>
#include <det/foundation/sha256.hpp>
#include <det/protocol/staged_file.hpp>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <sys/stat.h>

#include "create_support.hpp"

using namespace det;
using namespace det::cli;

namespace stage_submission_test {

struct StageFixture : CreateFixture {
    StageFixture() {
        cache = directory / "cache";
        must(write_file(directory / "env.tar.zst", "an archive"));
        must(write_file(directory / "image.sqsh", "an image"));
    }
    int create_with(std::string const& stage, std::string const& options = "") {
        must(write_file(directory / "exp.yaml", config_text() + "slurm: {" + stage + "}\n"));
        return create(options);
    }
    std::vector<StagedFile> recorded(std::uint32_t id) const {
        return staged_files(must(parse_spec(must(read_file(experiment(id).spec())))).config);
    }
    /// As if the file had been written some time ago.
    void age(std::string const& name, std::int64_t seconds) const {
        timespec const time{clock.now().microseconds / 1'000'000 - seconds, 0};
        timespec const both[2] = {time, time};
        BOOST_REQUIRE(::utimensat(AT_FDCWD, (directory / name).c_str(), both, 0) == 0);
    }
    /// Sets the clock by that of the file system, whose times of changes a test can't choose.
    void show_later_time(std::chrono::seconds later) {
        auto const wanted = SystemClock().now().microseconds + std::chrono::microseconds(later).count();
        clock.set_by(std::chrono::duration_cast<std::chrono::milliseconds>(
            std::chrono::microseconds(wanted - clock.now().microseconds)));
    }
    /// Other bytes in the same file, and the time of the last write that it had.
    void rewrite_with_time(std::string const& name, std::string const& bytes) const {
        auto const path = directory / name;
        struct stat before {
        }, after{};
        BOOST_REQUIRE(::stat(path.c_str(), &before) == 0);
        timespec const both[2] = {before.st_mtim, before.st_mtim};
        auto const until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
        do {  // until the clock of the file system has moved on
            UniqueFd const file(::open(path.c_str(), O_WRONLY));
            BOOST_REQUIRE(std::cmp_equal(::write(file.get(), bytes.data(), bytes.size()), bytes.size()));
            BOOST_REQUIRE(::futimens(file.get(), both) == 0);
            BOOST_REQUIRE(::stat(path.c_str(), &after) == 0);
        } while (after.st_ctim.tv_sec == before.st_ctim.tv_sec &&
                 after.st_ctim.tv_nsec == before.st_ctim.tv_nsec && std::chrono::steady_clock::now() < until);
        BOOST_REQUIRE((after.st_mtim.tv_nsec == before.st_mtim.tv_nsec && after.st_ino == before.st_ino));
    }
    /// The remembered hashes.
    std::string memory() const { return read_file(cache / "staged-files.json").value_or(""); }
};

std::string hash_of_text(std::string const& text) {
    Sha256 hash;
    hash.update(text);
    return hash.finish();
}

}  // namespace stage_submission_test

BOOST_FIXTURE_TEST_SUITE(stage_submission_test, stage_submission_test::StageFixture)

BOOST_AUTO_TEST_CASE(paths_begin_at_the_file_that_names_them_and_hashes_are_in_the_specification) {
    BOOST_TEST(create_with("stage: [env.tar.zst, ./code/../image.sqsh, image.sqsh]") == 0, err);
    std::vector<StagedFile> const expected{
        {(directory / "env.tar.zst").string(), 10, stage_submission_test::hash_of_text("an archive")},
        {(directory / "image.sqsh").string(), 8, stage_submission_test::hash_of_text("an image")}};
    BOOST_TEST((recorded(1) == expected));
    // A fork names the same files, wherever its configuration lies.
    BOOST_TEST(run("experiment fork 1") == 0, err);
    BOOST_TEST((recorded(2) == expected));
    environment.set("HOME", directory.path().string());
    BOOST_TEST(create_with("stage: [~/image.sqsh]") == 0, err);
    BOOST_TEST(recorded(3).at(0).path == (directory / "image.sqsh").string());
    // --config is written at the current directory.
    auto const absent = (std::filesystem::current_path() / "image.sqsh").string();
    BOOST_TEST(create(" --config slurm.stage=[image.sqsh]") == 4, err);
    BOOST_TEST(contains(err, "there is no file '" + absent + "'"), err);
}

BOOST_AUTO_TEST_CASE(files_that_cannot_be_staged_are_all_reported_where_they_are_named) {
    BOOST_TEST(create_with("stage: [env.tar.zts, code, image.sqsh, other/image.sqsh], stage_limit: 12") != 0);
    BOOST_TEST(contains(err, "exp.yaml:5:17: error: slurm.stage: there is no file '" +
                                 (directory / "env.tar.zts").string() + "'"),
               err);
    BOOST_TEST(contains(err, "'" + (directory / "env.tar.zst").string() + "' is there"), err);
    BOOST_TEST(contains(err, "code' is a directory"), err);
    BOOST_TEST(contains(err, "tar --zstd -cf code.tar.zst -C"), err);
    must(make_directory(directory / "other"));
    must(write_file(directory / "other/image.sqsh", "another"));
    BOOST_TEST(create_with("stage: [image.sqsh, other/image.sqsh], stage_limit: 12") != 0);
    BOOST_TEST(contains(err, "would both be 'image.sqsh' on the nodes"), err);
    BOOST_TEST(contains(err, "its files have 15 B, more than slurm.stage_limit, 12 B; the largest is"), err);
    BOOST_TEST(create_with("stage: ['', code/]") == 3, err);
    BOOST_TEST(contains(err, "must be the path of a file, found ''"), err);
    BOOST_TEST(contains(err, "must be the path of a file, found 'code/'"), err);
    BOOST_TEST(create_with("stage_limit: 12") == 0, err);
    BOOST_TEST(contains(err, "'slurm.stage_limit' has no effect: slurm.stage names no file"), err);
    BOOST_TEST(must(list_directory(root.experiments())).size() == 1u);  // that of the last one
}

BOOST_AUTO_TEST_CASE(a_file_is_hashed_again_only_when_it_has_changed) {
    show_later_time(std::chrono::seconds(100));
    age("image.sqsh", 100);
    BOOST_TEST(create_with("stage: [image.sqsh]") == 0, err);
    auto const real = stage_submission_test::hash_of_text("an image");
    BOOST_TEST(recorded(1).at(0).sha256 == real);
    // The remembered hash is used: a file that has not changed is not read.
    std::string const wrong(64, 'a');
    auto text = memory();
    BOOST_REQUIRE(contains(text, real));
    text.replace(text.find(real), real.size(), wrong);
    must(write_file(cache / "staged-files.json", text));
    BOOST_TEST(create_with("stage: [image.sqsh]") == 0, err);
    BOOST_TEST(recorded(2).at(0).sha256 == wrong);
    // The size, the inode and the time of the last write stay as they are.
    rewrite_with_time("image.sqsh", "AN IMAGE");
    BOOST_TEST(create_with("stage: [image.sqsh]") == 0, err);
    BOOST_TEST(recorded(3).at(0).sha256 == stage_submission_test::hash_of_text("AN IMAGE"));
}

BOOST_AUTO_TEST_CASE(
    the_hash_of_a_file_that_may_change_within_the_resolution_of_its_times_is_not_remembered) {
    show_later_time(std::chrono::seconds(100));
    age("image.sqsh", 0);
    BOOST_TEST(create_with("stage: [image.sqsh]") == 0, err);
    BOOST_TEST(!contains(memory(), "image.sqsh"));
    show_later_time(std::chrono::seconds(0));
    age("image.sqsh", 100);  // but it was changed just now
    BOOST_TEST(create_with("stage: [image.sqsh]") == 0, err);
    BOOST_TEST(!contains(memory(), "image.sqsh"));
    show_later_time(std::chrono::seconds(100));
    BOOST_TEST(create_with("stage: [image.sqsh]") == 0, err);
    BOOST_TEST(contains(memory(), "image.sqsh"));
}

BOOST_AUTO_TEST_SUITE_END()
