#include "pack_support.hpp"

using namespace det;
using namespace det::experiment_pack;

namespace pack_directory_test {

std::uint64_t stored_bytes(fs::path const& path) {
    struct stat info {};
    BOOST_REQUIRE(::stat(path.c_str(), &info) == 0);
    return static_cast<std::uint64_t>(info.st_blocks) * 512;
}

}  // namespace pack_directory_test

BOOST_AUTO_TEST_SUITE(pack_directory_test)

BOOST_AUTO_TEST_CASE(unpacking_restores_names_modes_times_links_holes_and_bytes) {
    ExperimentTree const tree;
    auto const before = list_tree(tree.directory);
    auto const report = must(tree.pack());
    BOOST_TEST(must(list_directory(tree.directory)) == std::vector<std::string>{"pack"});
    BOOST_TEST(report.entries == before.size());
    BOOST_TEST(report.pack_bytes < 3'600'000u);  // the random bytes, and little more
    BOOST_TEST(report.file == tree.pack_path());
    auto const unpacked = must(unpack_directory(tree.directory));
    BOOST_TEST(unpacked.contents_bytes == report.contents_bytes);
    BOOST_TEST(list_tree(tree.directory) == before, boost::test_tools::per_element());
    BOOST_TEST(stored_bytes(tree.directory / "sparse") < 1'000'000u);
    // And again, from what was restored.
    must(tree.pack());
    must(unpack_directory(tree.directory));
    BOOST_TEST(list_tree(tree.directory) == before, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_pack_can_lie_in_another_directory) {
    ExperimentTree const tree;
    auto const archive = tree.root / "archive";
    must(make_directory(archive));
    auto const before = list_tree(tree.directory);
    auto const report = must(tree.pack(archive));
    BOOST_TEST(report.file == archive / "experiment-7.detpack");
    BOOST_TEST(fs::read_symlink(tree.pack_path()) == report.file);
    must(must(PackFile::open(tree.directory)).verify());
    must(unpack_directory(tree.directory));
    BOOST_TEST(list_tree(tree.directory) == before, boost::test_tools::per_element());
    BOOST_TEST(must(list_directory(archive)).empty());
    must(write_file(archive / "experiment-7.detpack", "that of another root"));
    BOOST_TEST(tree.pack(archive).error().code.name == codes::name_taken.name);
    BOOST_TEST(list_tree(tree.directory) == before, boost::test_tools::per_element());
    BOOST_TEST(must(list_directory(archive)).size() == 1u);
}

BOOST_AUTO_TEST_CASE(secrets_stay_where_they_are) {
    ExperimentTree const tree;
    must(make_directories(tree.directory / "revisions/1"));
    tree.write("secrets.json", "{}");
    tree.write("revisions/1/secrets.json", "{}");
    tree.write("revisions/1/desired", "run");
    tree.write("trials/secrets.json", "a file of the program");
    auto const before = list_tree(tree.directory);
    must(tree.pack());
    BOOST_TEST(must(list_directory(tree.directory)) ==
                   (std::vector<std::string>{"pack", "revisions", "secrets.json"}),
               boost::test_tools::per_element());
    BOOST_TEST(must(list_directory(tree.directory / "revisions/1")) ==
               std::vector<std::string>{"secrets.json"});
    must(unpack_directory(tree.directory));
    BOOST_TEST(list_tree(tree.directory) == before, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(others_may_read_a_pack_if_they_may_read_all_files) {
    ExperimentTree const tree(100);
    auto const mode = [&] {
        struct stat info {};
        BOOST_REQUIRE(::stat(tree.pack_path().c_str(), &info) == 0);
        return info.st_mode & 0777;
    };
    must(tree.pack());
    BOOST_TEST(mode() == 0600u);
    must(unpack_directory(tree.directory));
    for (auto const& entry : fs::recursive_directory_iterator(tree.directory)) {
        if (!entry.is_symlink())
            BOOST_REQUIRE(::chmod(entry.path().c_str(), entry.is_directory() ? 0750 : 0640) == 0);
    }
    BOOST_REQUIRE(::chmod(tree.directory.c_str(), 0750) == 0);
    must(tree.pack());
    BOOST_TEST(mode() == 0640u);
}

BOOST_AUTO_TEST_CASE(what_an_interrupted_command_left_is_removed_and_what_changed_is_kept) {
    ExperimentTree const tree(100);
    must(tree.pack());
    auto const pack = must(read_file(tree.pack_path()));
    must(unpack_directory(tree.directory));
    auto const before = list_tree(tree.directory);
    must(write_file(tree.pack_path(), pack));  // as after a kill before the files were removed
    tree.write("later", "not in the pack");
    must(tree.pack());
    BOOST_TEST(must(list_directory(tree.directory)) == (std::vector<std::string>{"later", "pack"}),
               boost::test_tools::per_element());
    fs::remove(tree.directory / "later");
    // A file with the name of a packed one is never overwritten, and the experiment stays packed.
    tree.write("spec.json", "another text");
    auto const refused = unpack_directory(tree.directory);
    BOOST_REQUIRE(!refused);
    BOOST_TEST(refused.error().code.name == codes::name_taken.name);
    BOOST_TEST(must(read_file(tree.directory / "spec.json")) == "another text");
    fs::remove(tree.directory / "spec.json");
    must(unpack_directory(tree.directory));
    BOOST_TEST(list_tree(tree.directory) == before, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(files_that_are_no_files_are_refused) {
    ExperimentTree const tree(100);
    auto const fifo = tree.directory / "trials/fifo";
    BOOST_REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
    auto const before = list_tree(tree.directory);
    BOOST_TEST(tree.pack().error().code.name == codes::not_a_file.name);
    BOOST_TEST(unpack_directory(tree.directory).error().code.name == codes::wrong_state.name);
    BOOST_TEST(list_tree(tree.directory) == before, boost::test_tools::per_element());
    fs::remove(fifo);
    if (::geteuid() != 0) return;  // the rest needs a file of another user
    tree.write("foreign", "");
    BOOST_REQUIRE(::chown((tree.directory / "foreign").c_str(), 65534, 65534) == 0);
    BOOST_TEST(tree.pack().error().code.name == codes::unsafe_owner.name);
}

BOOST_AUTO_TEST_SUITE_END()
