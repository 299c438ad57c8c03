#include <det/foundation/descriptor_contents.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/temporary_names.hpp>

#include <boost/test/unit_test.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "check_result.hpp"
#include "repeated_calls.hpp"
#include "temporary_directory.hpp"

using namespace det;

BOOST_AUTO_TEST_SUITE(files_test)

BOOST_AUTO_TEST_CASE(a_file_is_replaced_in_one_step_with_the_mode_asked_for) {
    TemporaryDirectory directory;
    ::umask(022);
    must(write_file(directory / "a", "one"));
    must(write_file(directory / "a", "two", 0644, Durability::power_loss));
    BOOST_TEST(must(read_file(directory / "a")) == "two");
    struct stat info {};
    BOOST_REQUIRE(::stat((directory / "a").c_str(), &info) == 0);
    BOOST_TEST((info.st_mode & 0777) == 0644u);
    BOOST_TEST(must(list_directory(directory.path())).size() == 1u);  // nothing temporary is left
}

BOOST_AUTO_TEST_CASE(write_new_file_creates_a_name_only_once) {
    TemporaryDirectory directory;
    BOOST_TEST(must(write_new_file(directory / "1-created.json", "first")));
    BOOST_TEST(!must(write_new_file(directory / "1-created.json", "second")));
    BOOST_TEST(must(read_file(directory / "1-created.json")) == "first");
    BOOST_TEST(must(list_directory(directory.path())).size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_link_that_an_nfs_server_has_made_twice_counts_as_made) {
    TemporaryDirectory directory;
    auto const from = directory / "from", to = directory / "to";
    must(write_file(from, "mine"));
    BOOST_REQUIRE(::link(from.c_str(), to.c_str()) == 0);  // the request whose answer was lost
    BOOST_TEST(must(link_new_file(from, to)));
    must(write_file(directory / "other", "theirs"));
    BOOST_TEST(!must(link_new_file(directory / "other", to)));
    BOOST_TEST(must(read_file(to)) == "mine");
    BOOST_TEST((must_fail(link_new_file(from, directory / "no/such")).code == codes::no_such_file));
}

BOOST_AUTO_TEST_CASE(a_rename_that_an_nfs_server_has_carried_out_twice_counts_as_done) {
    TemporaryDirectory directory;
    must(write_file(directory / "file", "old"));
    must(make_directory(directory / "from"));
    {
        RepeatedCalls const repeated;
        must(write_file(directory / "file", "new"));
        BOOST_TEST(rename_own(directory / "from", directory / "to") == 0);
        BOOST_TEST(rename_own(directory / "absent", directory / "to") == -1);
    }
    BOOST_TEST(must(read_file(directory / "file")) == "new");
    BOOST_TEST((must(list_directory(directory.path())) == std::vector<std::string>{"file", "to"}));
}

BOOST_AUTO_TEST_CASE(directories_that_an_nfs_server_has_made_twice_have_their_mode) {
    TemporaryDirectory directory;
    auto const shared = directory / "shared";
    must(make_directory(shared));
    BOOST_REQUIRE(::chmod(shared.c_str(), 02750) == 0);
    auto const mode_of = [](std::filesystem::path const& path) {
        struct stat info {};
        return ::stat(path.c_str(), &info) == 0 ? info.st_mode & 07777 : 0;
    };
    must(make_directory(shared / "private"));
    BOOST_REQUIRE(::chmod((shared / "private").c_str(), 0700) == 0);
    {
        RepeatedCalls const repeated;
        must(make_own_directory(shared / "own"));
        must(make_own_directory(directory / "own"));
        must(make_directories(shared / "a/b"));
        must(make_directories(shared / "private"));
    }
    BOOST_TEST(mode_of(shared / "own") == 02750u);
    BOOST_TEST(mode_of(directory / "own") == 0700u);
    BOOST_TEST(mode_of(shared / "a") == 02750u);
    BOOST_TEST(mode_of(shared / "a/b") == 02750u);
    BOOST_TEST(mode_of(shared / "private") == 0700u);
    must(write_file(directory / "file", ""));
    BOOST_TEST(!make_own_directory(directory / "file"));
    BOOST_TEST(!make_own_directory(directory / "no/such"));
}

BOOST_AUTO_TEST_CASE(a_file_that_another_host_replaces_while_it_is_read_is_read_again) {
    int reads = 0;
    auto const fail = [&](int times, int reason) {
        return [&reads, times, reason]() -> Result<std::string> {
            if (++reads > times) return std::string("new");
            errno = reason;
            return Error{codes::file_system, "cannot read"};
        };
    };
    BOOST_TEST(must(read_current(fail(2, ESTALE))) == "new");
    BOOST_TEST(reads == 3);
    reads = 0;
    BOOST_TEST(must_fail(read_current(fail(1, EIO))).message == "cannot read");
    BOOST_TEST(reads == 1);
    reads = 0;
    BOOST_TEST(must_fail(read_current(fail(1000, ESTALE))).message == "cannot read");
    BOOST_TEST(reads < 100);
}

BOOST_AUTO_TEST_CASE(reading_anything_but_a_regular_file_is_an_error) {
    TemporaryDirectory directory;
    BOOST_TEST((must_fail(read_file(directory / "absent")).code == codes::no_such_file));
    BOOST_TEST((must_fail(read_file(directory.path())).code == codes::not_a_file));
    BOOST_REQUIRE(::mkfifo((directory / "fifo").c_str(), 0600) == 0);
    BOOST_TEST((must_fail(read_file(directory / "fifo")).code == codes::not_a_file));
    must(write_file(directory / "large", std::string(1001, 'x')));
    BOOST_TEST((must_fail(read_file(directory / "large", 1000)).code == codes::document_too_large));
    BOOST_TEST(must(read_file(directory / "large", 1001)).size() == 1001u);
}

BOOST_AUTO_TEST_CASE(a_file_whose_reported_size_is_zero_is_read_whole) {
    BOOST_TEST(!must(read_file("/proc/self/status")).empty());
}

BOOST_AUTO_TEST_CASE(directories_are_made_once_and_removed_whole) {
    TemporaryDirectory directory;
    BOOST_TEST(must(make_directory(directory / "1")));
    BOOST_TEST(!must(make_directory(directory / "1")));
    must(make_directories(directory / "a/b/c"));
    must(make_directories(directory / "a/b/c"));
    must(write_file(directory / "file", ""));
    BOOST_TEST((must_fail(make_directory(directory / "file")).code == codes::not_a_directory));
    must(remove_tree(directory / "a"));
    must(remove_tree(directory / "a"));
    BOOST_TEST(must(list_directory(directory / "a")).empty());
}

BOOST_AUTO_TEST_SUITE_END()
