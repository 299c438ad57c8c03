// Which paths and files are trusted. Cases that give files to other users need root.
#include <det/foundation/files.hpp>
#include <det/foundation/trusted_file.hpp>
#include <det/foundation/trusted_path.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "check_result.hpp"
#include "temporary_directory.hpp"

using namespace det;

namespace trusted_path_test {

namespace fs = std::filesystem;

constexpr uid_t ada = 50'001, bob = 50'002;
constexpr gid_t ada_group = 50'001, project = 50'003;

bool only_ada(gid_t group, uid_t user) { return group == ada_group && user == ada; }

/// /tmp/.../project/ada/root. All directories belong to root with mode 0755, except ada's own.
struct Tree {
    TemporaryDirectory base;
    fs::path above = base / "project", home = above / "ada", root = home / "root";
    TrustRules rules{ada, {}, {}, false, only_ada};

    Tree() {
        fs::create_directories(root);
        set(base.path(), 0, 0, 0755);
        set(above, 0, 0, 0755);
        set(home, ada, ada_group, 0755);
        set(root, ada, ada_group, 0700);
    }
    static void set(fs::path const& path, uid_t owner, gid_t group, mode_t mode) {
        BOOST_REQUIRE(::chown(path.c_str(), owner, group) == 0);
        BOOST_REQUIRE(::chmod(path.c_str(), mode) == 0);
    }
    bool is_trusted() const { return check_trusted_directory(root, rules).has_value(); }
    Error refusal(fs::path const& path) const { return must_fail(check_trusted_path(path, rules)); }
    Error refusal() const { return refusal(root); }
    void link(fs::path const& target, fs::path const& name, uid_t owner) const {
        fs::create_symlink(target, name);
        BOOST_REQUIRE(::lchown(name.c_str(), owner, owner) == 0);
    }
};

boost::test_tools::assertion_result is_root(boost::unit_test::test_unit_id) {
    boost::test_tools::assertion_result result(::geteuid() == 0);
    if (!result) result.message() << "only root can give files to other users";
    return result;
}

}  // namespace trusted_path_test

BOOST_AUTO_TEST_SUITE(trusted_path_test, *boost::unit_test::precondition(is_root))

BOOST_FIXTURE_TEST_CASE(directories_of_the_user_and_of_root_are_trusted, Tree) {
    BOOST_TEST(is_trusted());
    set(above, ada, ada_group, 0755);
    BOOST_TEST(is_trusted());
    BOOST_TEST(check_trusted_directory("/", rules).has_value());
}

BOOST_FIXTURE_TEST_CASE(a_directory_of_another_user_is_refused_with_its_owner_and_mode, Tree) {
    set(above, bob, 0, 0755);
    auto const error = refusal();
    BOOST_TEST((error.code == codes::unsafe_owner));
    BOOST_TEST(
        error.message ==
        fmt::format("'{}' belongs to another user (owner 50002, group root, mode 0755), on the way to '{}'",
                    above.string(), root.string()));
    set(above, 0, 0, 0755);
    set(root, bob, 0, 0700);
    BOOST_TEST(!is_trusted());
}

BOOST_FIXTURE_TEST_CASE(a_directory_that_a_group_can_write_is_refused_unless_it_is_sticky, Tree) {
    set(above, 0, project, 02775);
    auto const error = refusal();
    BOOST_TEST((error.code == codes::unsafe_owner));
    BOOST_TEST(error.message.find("mode 2775") != std::string::npos, error.message);
    BOOST_TEST(error.hint.starts_with(fmt::format("chmod g-w '{}'", above.string())), error.hint);
    BOOST_TEST(error.hint.find("trusted_ancestors") != std::string::npos);
    set(above, 0, project, 03775);
    BOOST_TEST(is_trusted());
    set(above, 0, project, 0755);
    BOOST_TEST(is_trusted());
}

BOOST_FIXTURE_TEST_CASE(a_directory_that_all_can_write_is_refused_unless_it_is_sticky, Tree) {
    set(above, 0, 0, 0757);
    BOOST_TEST(refusal().hint.starts_with("chmod go-w"));
    set(above, 0, 0, 01777);
    BOOST_TEST(is_trusted());
}

BOOST_FIXTURE_TEST_CASE(what_is_in_a_sticky_directory_must_belong_to_the_user_or_to_root, Tree) {
    set(above, 0, 0, 01777);
    set(home, 0, 0, 0755);
    BOOST_TEST(is_trusted());
    set(home, bob, 0, 0755);
    BOOST_TEST(!is_trusted());
    BOOST_TEST(!check_trusted_ancestors(home, rules).has_value());
    set(above, 0, 0, 0755);
    BOOST_TEST(check_trusted_ancestors(home, rules).has_value());  // does not ask who owns home
}

BOOST_FIXTURE_TEST_CASE(a_private_group_of_the_user_counts_as_the_user, Tree) {
    set(home, ada, ada_group, 0775);
    BOOST_TEST(is_trusted());
    set(home, 0, ada_group, 0775);
    BOOST_TEST(is_trusted());
    set(home, ada, project, 0775);
    BOOST_TEST(!is_trusted());
    set(home, ada, ada_group, 0777);
    BOOST_TEST(!is_trusted());
}

BOOST_FIXTURE_TEST_CASE(the_mask_of_an_acl_is_no_private_group, Tree) {
    set(home, ada, ada_group, 0775);
    // user::rwx user:bob:rwx group::r-x mask::rwx other::r-x, as struct posix_acl_xattr_entry
    struct Entry {
        std::uint16_t tag, permissions;
        std::uint32_t id;
    };
    struct {
        std::uint32_t version = 2;
        Entry entries[5] = {{1, 7, ~0u}, {2, 7, bob}, {4, 5, ~0u}, {16, 7, ~0u}, {32, 5, ~0u}};
    } const acl;
    if (::setxattr(home.c_str(), "system.posix_acl_access", &acl, sizeof acl, 0) != 0) {
        BOOST_TEST_MESSAGE("SKIPPED: the file system of " << home << " has no ACLs");
        return;
    }
    BOOST_TEST(!is_trusted());
}

BOOST_FIXTURE_TEST_CASE(a_listed_directory_may_be_of_a_group_but_what_is_in_it_is_not, Tree) {
    rules.trusted_ancestors = {above};
    set(above, bob, project, 02775);
    BOOST_TEST(is_trusted());
    set(home, bob, project, 0755);  // renamed, and another tree in its place
    BOOST_TEST(!is_trusted());
    set(home, ada, project, 02775);  // not listed
    BOOST_TEST(!is_trusted());
    rules.trusted_ancestors = {home, above};  // in any order
    BOOST_TEST(is_trusted());
    set(above, 0, project, 0777);
    BOOST_TEST(!is_trusted());
}

BOOST_FIXTURE_TEST_CASE(a_listed_directory_is_known_by_every_path_that_leads_to_it, Tree) {
    set(above, 0, project, 02775);
    link(above, base / "link", 0);
    rules.trusted_ancestors = {base / "link"};
    BOOST_TEST(is_trusted());
}

BOOST_FIXTURE_TEST_CASE(a_listed_directory_whose_own_path_is_not_trusted_does_not_count, Tree) {
    fs::create_directory(base / "open");
    set(base / "open", 0, 0, 0777);
    link(above, base / "open" / "link", bob);
    set(above, 0, project, 02775);
    rules.trusted_ancestors = {base / "open" / "link"};
    BOOST_TEST(!is_trusted());
}

BOOST_FIXTURE_TEST_CASE(links_are_followed_and_their_paths_are_checked, Tree) {
    fs::create_directory(base / "other");
    set(base / "other", 0, 0, 0755);
    link(root, base / "other" / "link", ada);
    BOOST_TEST(check_trusted_directory(base / "other" / "link", rules).has_value());
    set(above, 0, project, 02775);  // on the way of the target
    BOOST_TEST(refusal(base / "other" / "link").message.find(above.string()) != std::string::npos);
    set(above, 0, 0, 0755);
    set(base / "other", 0, project, 02775);  // the directory of the link
    BOOST_TEST(refusal(base / "other" / "link").message.find((base / "other").string()) != std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(a_link_of_another_user_is_followed_where_he_cannot_replace_it, Tree) {
    link(root, base / "link", bob);
    BOOST_TEST(check_trusted_directory(base / "link", rules).has_value());
    set(base.path(), 0, 0, 01777);
    BOOST_TEST((refusal(base / "link").code == codes::unsafe_owner));
}

BOOST_FIXTURE_TEST_CASE(relative_links_and_dots_lead_where_the_kernel_goes, Tree) {
    link("../project/./ada", above / "link", ada);
    BOOST_TEST(check_trusted_directory(above / "link/../ada/root", rules).has_value());
    set(home, ada, project, 0775);
    BOOST_TEST((refusal(above / "link/root").code == codes::unsafe_owner));
    // The directory above home is that of the target, not that of the link.
    fs::create_directories(base / "far/deep");
    set(base / "far", 0, project, 0775);
    set(base / "far/deep", 0, 0, 0755);
    link(base / "far/deep", above / "deep", ada);
    BOOST_TEST((refusal(above / "deep/../deep").code == codes::unsafe_owner));
}

BOOST_FIXTURE_TEST_CASE(a_loop_of_links_ends, Tree) {
    link(above / "b", above / "a", ada);
    link(above / "a", above / "b", ada);
    BOOST_TEST((refusal(above / "a").code == codes::file_system));
}

BOOST_FIXTURE_TEST_CASE(what_does_not_exist_is_trusted_if_its_parents_are, Tree) {
    BOOST_TEST(check_trusted_directory(home / "new/root", rules).has_value());
    set(home, ada, project, 0775);
    BOOST_TEST((refusal(home / "new/root").code == codes::unsafe_owner));
}

BOOST_FIXTURE_TEST_CASE(a_sticky_directory_is_no_private_directory, Tree) {
    set(root, ada, ada_group, 01777);
    BOOST_TEST(check_trusted_path(root, rules).has_value());
    BOOST_TEST(!check_trusted_directory(root, rules).has_value());
}

BOOST_FIXTURE_TEST_CASE(a_file_is_checked_as_a_directory_is, Tree) {
    auto const file = root / "file";
    must(write_file(file, ""));
    set(file, ada, ada_group, 0664);
    BOOST_TEST(check_trusted_path(file, rules).has_value());
    set(file, ada, project, 01664);  // sticky means nothing for a file
    BOOST_TEST((refusal(file).code == codes::unsafe_owner));
    set(file, bob, ada_group, 0600);
    BOOST_TEST((refusal(file).code == codes::unsafe_owner));
    BOOST_TEST((refusal(file / "below").code == codes::not_a_directory));
    BOOST_TEST((must_fail(check_trusted_directory(file, rules)).code == codes::not_a_directory));
}

BOOST_FIXTURE_TEST_CASE(another_owner_can_be_accepted, Tree) {
    set(above, bob, 0, 0755);
    BOOST_TEST(!is_trusted());
    rules.other_owner = bob;
    BOOST_TEST(is_trusted());
}

BOOST_FIXTURE_TEST_CASE(the_owner_and_the_writers_of_one_file_follow_the_same_rules, Tree) {
    struct stat info {};
    info.st_uid = bob;
    BOOST_TEST(!has_trusted_owner(info, rules));
    rules.other_owner = bob;
    BOOST_TEST(has_trusted_owner(info, rules));
    info.st_gid = project;
    info.st_mode = S_IFREG | 0664;
    BOOST_TEST(can_others_write(-1, info, rules));
    rules.accepts_groups = true;
    BOOST_TEST(!can_others_write(-1, info, rules));
    info.st_mode = S_IFREG | 0666;
    BOOST_TEST(can_others_write(-1, info, rules));
}

BOOST_AUTO_TEST_CASE(a_group_is_private_only_if_the_user_database_says_so) {
    BOOST_TEST(!is_private_group(0, 0));        // root has none
    BOOST_TEST(!is_private_group(0, ada));      // there is no such user
    BOOST_TEST(!is_private_group(project, 1));  // not the primary group of the user
    auto const* daemon = ::getpwnam("daemon");
    BOOST_REQUIRE(daemon != nullptr);
    auto const* group = ::getgrnam("daemon");
    BOOST_REQUIRE(group != nullptr);
    bool const has_members = *group->gr_mem != nullptr;
    BOOST_TEST(is_private_group(group->gr_gid, daemon->pw_uid) == !has_members);
}

BOOST_FIXTURE_TEST_CASE(a_file_of_another_user_is_not_read, Tree) {
    auto const file = base / "file";
    must(write_file(file, "text"));
    BOOST_TEST(must(read_trusted_file(file)) == "text");
    set(file, bob, 0, 0644);
    BOOST_TEST((must_fail(read_trusted_file(file)).code == codes::unsafe_owner));
    BOOST_TEST(must_fail(read_trusted_file(file)).message.find("owner 50002") != std::string::npos);
    for (mode_t const mode : {0620u, 0602u}) {
        set(file, 0, project, mode);
        BOOST_TEST((must_fail(read_trusted_file(file)).code == codes::unsafe_owner));
    }
    set(file, 0, 0, 0644);
    BOOST_TEST(must(read_trusted_file(file)) == "text");
}

BOOST_FIXTURE_TEST_CASE(a_directory_that_others_can_write_is_not_listed, Tree) {
    BOOST_TEST(must(list_trusted_directory(above)) == std::vector<std::string>{"ada"});
    BOOST_TEST(must(list_trusted_directory(base / "none")).empty());
    set(above, 0, project, 02775);
    BOOST_TEST((must_fail(list_trusted_directory(above)).code == codes::unsafe_owner));
    set(above, bob, 0, 0755);
    BOOST_TEST((must_fail(list_trusted_directory(above)).code == codes::unsafe_owner));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(trusted_file_test)

BOOST_AUTO_TEST_CASE(only_regular_files_are_read_and_no_fifo_blocks) {
    TemporaryDirectory directory;
    auto const code = [&](char const* name) { return must_fail(read_trusted_file(directory / name)).code; };
    BOOST_REQUIRE(::mkfifo((directory / "fifo").c_str(), 0600) == 0);
    BOOST_TEST((code("fifo") == codes::not_a_file));
    BOOST_TEST((code("") == codes::not_a_file));
    BOOST_TEST((code("none") == codes::no_such_file));
    must(write_file(directory / "file", "four"));
    BOOST_TEST(must(read_trusted_file(directory / "file", 4)) == "four");
    BOOST_TEST((must_fail(read_trusted_file(directory / "file", 3)).code == codes::document_too_large));
    std::filesystem::create_symlink(directory / "file", directory / "link");
    BOOST_TEST((code("link") == codes::unsafe_owner));
}

BOOST_AUTO_TEST_SUITE_END()
