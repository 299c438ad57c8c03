// slurm.stage at submission: which files, with which hashes.
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
    age("image.sqsh", 100);
    BOOST_TEST(create_with("stage: [image.sqsh]") == 0, err);
    auto const known = recorded(1);
    // The remembered hash is used: a file of the same size, time and inode is not read.
    auto const fd = ::open((directory / "image.sqsh").c_str(), O_WRONLY);
    BOOST_REQUIRE(::write(fd, "AN IMAGE", 8) == 8);
    ::close(fd);
    age("image.sqsh", 100);
    BOOST_TEST(create_with("stage: [image.sqsh]") == 0, err);
    BOOST_TEST((recorded(2) == known));
    age("image.sqsh", 90);
    BOOST_TEST(create_with("stage: [image.sqsh]") == 0, err);
    BOOST_TEST(recorded(3).at(0).sha256 == stage_submission_test::hash_of_text("AN IMAGE"));
    // A file that has just been written may change again within the resolution of its time.
    age("image.sqsh", 0);
    BOOST_TEST(create_with("stage: [image.sqsh]") == 0, err);
    auto const again = ::open((directory / "image.sqsh").c_str(), O_WRONLY);
    BOOST_REQUIRE(::write(again, "an image", 8) == 8);
    ::close(again);
    age("image.sqsh", 0);
    BOOST_TEST(create_with("stage: [image.sqsh]") == 0, err);
    BOOST_TEST(recorded(5).at(0).sha256 == stage_submission_test::hash_of_text("an image"));
}

BOOST_AUTO_TEST_SUITE_END()
