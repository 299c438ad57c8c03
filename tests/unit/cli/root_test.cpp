#include <det/experiment/root_directory.hpp>
#include <det/foundation/files.hpp>
#include <det/protocol/document.hpp>
#include <det/protocol/json.hpp>

#include <boost/test/unit_test.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "check_result.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace det::experiment;

namespace root_test {

Environment with(std::map<std::string, std::string, std::less<>> variables) {
    return Environment(std::move(variables));
}

ErrorCode refusal(std::filesystem::path const& root) {
    return must_fail(find_root(with({{"DET_ROOT", root.string()}}))).code;
}

}  // namespace root_test

BOOST_AUTO_TEST_SUITE(root_test)

BOOST_AUTO_TEST_CASE(the_root_is_det_root_else_in_the_data_directory_of_xdg) {
    BOOST_TEST(must(find_root(with({{"DET_ROOT", "/a"}, {"HOME", "/h"}}))).path() == "/a");
    std::string const usual = "/nowhere/.local/share/det-submit";
    BOOST_TEST(must(find_root(with({{"HOME", "/nowhere"}}))).path() == usual);
    BOOST_TEST(must(find_root(with({{"DET_ROOT", ""}, {"HOME", "/nowhere"}}))).path() == usual);
    BOOST_TEST(must(find_root(with({{"HOME", "/nowhere"}, {"XDG_DATA_HOME", "relative"}}))).path() == usual);
    BOOST_TEST(must(find_root(with({{"HOME", "/nowhere"}, {"XDG_DATA_HOME", "/data"}}))).path() ==
               "/data/det-submit");
    BOOST_TEST(must(find_root(with({{"XDG_DATA_HOME", "/data"}}))).path() == "/data/det-submit");
    BOOST_TEST((must_fail(find_root({})).code == codes::usage));
}

BOOST_AUTO_TEST_CASE(a_root_that_is_in_det_at_home_already_stays_the_root) {
    TemporaryDirectory home;
    auto const find = [&] {
        return must(find_root(with({{"HOME", home.path().string()}, {"XDG_DATA_HOME", "/data"}}))).path();
    };
    std::filesystem::create_directories(home / "det/bin");  // an installation of det-submit
    BOOST_TEST(find() == "/data/det-submit");
    for (auto const* part : {"det/experiments", "det/templates"}) {
        std::filesystem::create_directories(home / part);
        BOOST_TEST(find() == home / "det");
        std::filesystem::remove(home / part);
    }
}

BOOST_AUTO_TEST_CASE(different_spellings_of_a_root_give_one_path) {
    auto const root = must(find_root(with({{"DET_ROOT", "/a/b/../c//"}})));
    BOOST_TEST(root.path() == "/a/c");
    BOOST_TEST(job_comment(root, {7}) == job_comment(RootLayout("/a/c"), {7}));
    BOOST_TEST(job_comment(root, {7}) != job_comment(RootLayout("/a/d"), {7}));
}

BOOST_AUTO_TEST_CASE(a_relative_root_is_refused) {
    BOOST_TEST((refusal("det") == codes::usage));
    BOOST_TEST((must_fail(find_root(with({{"HOME", "home"}}))).code == codes::usage));
}

BOOST_AUTO_TEST_CASE(a_root_that_others_can_write_is_refused) {
    TemporaryDirectory directory;
    BOOST_TEST(must(find_root(with({{"DET_ROOT", directory.path().string()}}))).path() == directory.path());
    for (mode_t const mode : {0770, 0702, 01777}) {
        BOOST_REQUIRE(::chmod(directory.path().c_str(), mode) == 0);
        auto const error = must_fail(find_root(with({{"DET_ROOT", directory.path().string()}})));
        BOOST_TEST((error.code == codes::unsafe_owner));
        BOOST_TEST(error.hint == "chmod go-w '" + directory.path().string() + "'");
    }
    BOOST_REQUIRE(::chmod(directory.path().c_str(), 0755) == 0);  // the owner may let others read
    BOOST_TEST(find_root(with({{"DET_ROOT", directory.path().string()}})).has_value());
}

BOOST_AUTO_TEST_CASE(a_root_that_a_newer_version_has_made_is_refused_with_words) {
    TemporaryDirectory directory;
    auto const find = [&] { return find_root(with({{"DET_ROOT", directory.path().string()}})); };
    auto const write = [&](int version) {
        must(write_file(directory / "format", render_document({"root", version}, nlohmann::json::object()),
                        0644));
    };
    must(record_root_format(must(find())));
    BOOST_TEST(must(find()).path() == directory.path());
    write(2);
    auto const error = must_fail(find());
    BOOST_TEST((error.code == codes::newer_format));
    BOOST_TEST(error.message == "'" + (directory / "format").string() +
                                    "': it is 'root/2', this program reads up to 'root/1'");
    BOOST_TEST(error.hint == "use the det-submit that made the root, or set DET_ROOT to another directory");
    must(record_root_format(RootLayout(directory.path())));  // never overwritten
    BOOST_TEST((must_fail(find()).code == codes::newer_format));
    must(write_file(directory / "format", "{", 0644));
    BOOST_TEST((must_fail(find()).code == codes::damaged));
}

BOOST_AUTO_TEST_CASE(a_root_of_another_user_is_refused) {
    if (::geteuid() != 0) {
        BOOST_TEST((refusal("/") == codes::unsafe_owner));
        return;
    }
    TemporaryDirectory directory;
    BOOST_REQUIRE(::chown(directory.path().c_str(), 65534, 65534) == 0);
    BOOST_TEST((refusal(directory.path()) == codes::unsafe_owner));
    // A symbolic link of the caller does not make the caller the owner of its target.
    TemporaryDirectory mine;
    std::filesystem::create_symlink(directory.path(), mine / "link");
    BOOST_TEST((refusal(mine / "link") == codes::unsafe_owner));
}

BOOST_AUTO_TEST_CASE(a_file_is_no_root) { BOOST_TEST((refusal("/etc/passwd") == codes::not_a_directory)); }

BOOST_AUTO_TEST_SUITE_END()
