// Reads a tree that another user has written. Cases that give files to other users need root.
#include <det/foundation/files.hpp>
#include <det/foundation/foreign_tree.hpp>
#include <det/foundation/shared_directory.hpp>
#include <det/foundation/trusted_file.hpp>

#include <boost/test/unit_test.hpp>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "check_result.hpp"
#include "temporary_directory.hpp"

using namespace det;

namespace foreign_tree_test {

namespace fs = std::filesystem;

constexpr uid_t ada = 50'001, bob = 50'002;

struct Tree {
    TemporaryDirectory base;
    fs::path root = base / "ada";

    Tree() {
        fs::create_directory(root);
        give(root, ada);
    }
    void write(std::string const& name, uid_t owner) const {
        must(write_file(root / name, "text of " + name, 0644));
        give(root / name, owner);
    }
    static void give(fs::path const& path, uid_t owner) {
        BOOST_REQUIRE(::lchown(path.c_str(), owner, owner) == 0);
    }
    ErrorCode refusal(std::string const& name) const {
        auto const error = must_fail(read_file(root / name));
        BOOST_TEST((must_fail(read_trusted_file(root / name)).code == error.code), name);
        return error.code;
    }
};

boost::test_tools::assertion_result is_root_here(boost::unit_test::test_unit_id) {
    boost::test_tools::assertion_result result(::geteuid() == 0);
    if (!result) result.message() << "only root can give files to other users";
    return result;
}

mode_t mode_of(fs::path const& path) {
    struct stat info {};
    BOOST_REQUIRE(::lstat(path.c_str(), &info) == 0);
    return info.st_mode & 07777;
}

/// The value of an ACL as an extended attribute: acl(5).
struct Acl {
    struct Entry {
        std::uint16_t tag, permissions;
        std::uint32_t id;
    };
    std::uint32_t version;
    Entry entries[5];
};

}  // namespace foreign_tree_test

using namespace foreign_tree_test;

BOOST_AUTO_TEST_SUITE(foreign_tree_test)

BOOST_FIXTURE_TEST_CASE(files_of_the_owner_are_read_and_those_of_third_users_are_not, Tree,
                        *boost::unit_test::precondition(is_root_here)) {
    write("hers", ada);
    write("of-root", 0);
    write("of-bob", bob);
    BOOST_TEST((must_fail(read_trusted_file(root / "hers")).code == codes::unsafe_owner));  // no tree yet
    ForeignTree const tree(root, ada);
    BOOST_TEST(must(read_file(root / "hers")) == "text of hers");
    BOOST_TEST(must(read_trusted_file(root / "hers")) == "text of hers");
    BOOST_TEST(must(read_trusted_file(root / "of-root")) == "text of of-root");
    BOOST_TEST((refusal("of-bob") == codes::unsafe_owner));
    BOOST_TEST(must(list_directory(root)).size() == 3u);
    fs::create_directory(root / "bobs");
    give(root / "bobs", bob);
    BOOST_TEST((must_fail(list_directory(root / "bobs")).code == codes::unsafe_owner));
    BOOST_TEST((must_fail(list_trusted_directory(root / "bobs")).code == codes::unsafe_owner));
}

BOOST_FIXTURE_TEST_CASE(links_fifos_and_large_files_are_refused, Tree,
                        *boost::unit_test::precondition(is_root_here)) {
    ForeignTree const tree(root, ada);
    must(write_file(base / "mine", "secret", 0600));
    fs::create_symlink(base / "mine", root / "link");
    give(root / "link", ada);
    BOOST_TEST(!read_file(root / "link"));
    BOOST_TEST(!read_trusted_file(root / "link"));
    fs::create_directory_symlink("/etc", root / "directory");
    BOOST_TEST(!list_directory(root / "directory"));
    BOOST_REQUIRE(::mkfifo((root / "fifo").c_str(), 0644) == 0);
    give(root / "fifo", ada);
    BOOST_TEST((refusal("fifo") == codes::not_a_file));  // and does not block
    write("large", ada);
    BOOST_REQUIRE(::truncate((root / "large").c_str(), foreign_file_limit_bytes + 1) == 0);
    BOOST_TEST(
        (must_fail(read_file(root / "large", std::size_t{1} << 30)).code == codes::document_too_large));
    BOOST_TEST((must_fail(read_trusted_file(root / "large", std::size_t{1} << 30)).code ==
                codes::document_too_large));
}

BOOST_FIXTURE_TEST_CASE(the_rules_hold_below_the_tree_and_as_long_as_it_exists, Tree,
                        *boost::unit_test::precondition(is_root_here)) {
    write("hers", ada);
    must(write_file(base / "ada-2", "mine"));
    {
        ForeignTree const tree(root, ada);
        BOOST_TEST((foreign_owner_of(root / "x/y") == ada));
        BOOST_TEST((foreign_owner_of(root) == ada));
        BOOST_TEST(!foreign_owner_of(base / "ada-2"));
        BOOST_TEST(must(read_trusted_file(base / "ada-2")) == "mine");
        fs::create_directory(root / "inner");
        ForeignTree const inner(root / "inner", bob);
        BOOST_TEST((foreign_owner_of(root / "inner/file") == bob));
        BOOST_TEST((foreign_owner_of(root / "file") == ada));
    }
    BOOST_TEST(!foreign_owner_of(root));
    BOOST_TEST(!read_trusted_file(root / "hers"));
}

BOOST_AUTO_TEST_CASE(what_is_made_in_a_shared_directory_is_shared_and_secrets_are_not) {
    TemporaryDirectory directory;
    auto const shared = directory / "shared";
    must(make_directory(shared));
    must(write_file(shared / "before", ""));
    BOOST_TEST(!shares_new_files(shared));
    BOOST_REQUIRE(::chmod(shared.c_str(), 02750) == 0);
    BOOST_TEST(shares_new_files(shared));
    must(make_directories(shared / "a/b"));
    must(write_file(shared / "a/b/file", ""));
    must(write_new_file(shared / "new", ""));
    must(write_file(shared / "open", "", 0644));
    must(write_secret_file(shared / "secret", ""));
    must(write_new_secret_file(shared / "new-secret", ""));
    BOOST_TEST(mode_of(shared / "before") == 0600u);
    BOOST_TEST(mode_of(shared / "a") == 02750u);
    BOOST_TEST(mode_of(shared / "a/b") == 02750u);
    BOOST_TEST(mode_of(shared / "a/b/file") == 0640u);
    BOOST_TEST(mode_of(shared / "new") == 0640u);
    BOOST_TEST(mode_of(shared / "open") == 0644u);
    BOOST_TEST(mode_of(shared / "secret") == 0600u);
    BOOST_TEST(mode_of(shared / "new-secret") == 0600u);
    for (mode_t const other : {02770u, 0750u, 02700u}) {  // a project's directory shares nothing by itself
        BOOST_REQUIRE(::chmod(shared.c_str(), other) == 0);
        must(write_file(shared / "more", ""));
        BOOST_TEST(mode_of(shared / "more") == 0600u);
    }
}

BOOST_FIXTURE_TEST_CASE(entries_of_the_default_acl_of_a_shared_directory_are_kept, Tree,
                        *boost::unit_test::precondition(is_root_here)) {
    auto const shared = base / "shared";
    must(make_directory(shared));
    BOOST_REQUIRE(::chmod(shared.c_str(), 02750) == 0);
    Acl const wanted{2, {{1, 7, ~0u}, {2, 5, bob}, {4, 5, ~0u}, {16, 5, ~0u}, {32, 0, ~0u}}};
    if (::setxattr(shared.c_str(), "system.posix_acl_default", &wanted, sizeof wanted, 0) != 0) {
        BOOST_TEST_MESSAGE("SKIPPED: the file system of " << shared << " has no ACLs");
        return;
    }
    must(make_directories(shared / "a"));
    must(write_file(shared / "a/file", ""));
    must(write_secret_file(shared / "a/secret", ""));
    struct Row {
        fs::path path;
        std::uint16_t mask;  // what it leaves of the permissions of bob
    };
    for (auto const& [path, mask] :
         {Row{shared / "a", 5}, Row{shared / "a/file", 4}, Row{shared / "a/secret", 0}}) {
        Acl acl{};
        BOOST_REQUIRE(::getxattr(path.c_str(), "system.posix_acl_access", &acl, sizeof acl) == sizeof acl);
        BOOST_TEST(acl.entries[1].id == bob);
        BOOST_TEST(acl.entries[3].permissions == mask, path.string());
    }
}

BOOST_AUTO_TEST_SUITE_END()
