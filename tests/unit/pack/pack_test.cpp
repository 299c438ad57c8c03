#include <det/foundation/files.hpp>
#include <det/foundation/process.hpp>
#include <det/pack/pack.hpp>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>

#include "check_result.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace det::pack;

namespace pack_test {

bool contains(std::string const& text, std::string const& part) {
    return text.find(part) != std::string::npos;
}

Result<StoredContext> pack_and_store(ContextTree const& tree, std::filesystem::path const& contexts) {
    DET_TRY_ASSIGN(auto packed, pack_tree(tree, contexts));
    return packed.store();
}

struct Fixture {
    TemporaryDirectory directory;
    std::filesystem::path tree = directory / "tree";
    std::filesystem::path contexts = directory / "contexts";

    void shell(std::string const& script) const {
        SystemProcessRunner runner;
        auto const output =
            must(runner.run({{"/bin/sh", "-ec", "cd '" + directory.path().string() + "'\n" + script},
                             Environment::of_this_process()}));
        BOOST_REQUIRE_MESSAGE(output.exit_code == 0, output.err);
    }
    Result<StoredContext, Diagnostics> try_to_pack(ContextSources const& sources) const {
        DET_TRY_ASSIGN(auto const listed, list_context(sources));
        DET_TRY_ASSIGN(auto packed, pack_and_store(listed, contexts));
        return packed;
    }
    Result<StoredContext, Diagnostics> try_to_pack() const { return try_to_pack({tree, {}}); }
    StoredContext pack() const { return must(try_to_pack()); }
    /// A file of another user, which this user may read.
    std::string foreign_file() const {
        if (::geteuid() != 0) return "/etc/passwd";
        shell("echo foreign > foreign; chown 65534 foreign");
        return (directory / "foreign").string();
    }
    std::string warnings() const { return explain(must(list_context({tree, {}})).warnings); }
    std::string refusal(std::vector<std::string> const& includes = {}) const {
        ContextSources sources{tree, {}};
        for (auto const& include : includes) sources.includes.push_back(directory / include);
        return explain(must_fail(try_to_pack(sources)));
    }
    std::filesystem::path archive(StoredContext const& packed) const {
        return contexts / (packed.sha256 + ".tar.zst");
    }
    std::vector<std::string> stored() const { return must(list_directory(contexts)); }
    /// Unpacks the archive by GNU tar into `out`.
    void unpack(StoredContext const& packed) const {
        shell("rm -rf out; mkdir out; zstd -dcq contexts/" + packed.sha256 + ".tar.zst | tar -xf - -C out");
    }
};

}  // namespace pack_test

BOOST_FIXTURE_TEST_SUITE(pack_test, Fixture)

BOOST_AUTO_TEST_CASE(a_packed_tree_is_unpacked_unchanged) {
    shell(
        "mkdir -p tree/sub/empty; echo 'print(1)' > tree/train.py; echo x > tree/run; chmod 755 tree/run\n"
        "ln -s ../train.py tree/sub/link; head -c 1000000 /dev/urandom > tree/sub/data; : > tree/none\n"
        "printf x > 'tree/ünï code \"quoted\"'");
    unpack(pack());
    shell(
        "diff -r tree out; test -x out/run; test ! -x out/train.py; test -L out/sub/link; test -d "
        "out/sub/empty");
}

BOOST_AUTO_TEST_CASE(long_paths_and_links_are_kept_whole) {
    std::string const part(60, 'p');
    auto const deep = part + "/" + part + "/" + part + "/" + part;
    shell("mkdir -p tree/" + deep + "; echo x > tree/" + deep + "/file; ln -s " + deep + "/file tree/link\n" +
          "echo y > tree/" + std::string(100, 'a') + "; echo z > tree/" + std::string(101, 'b'));
    unpack(pack());
    shell("diff -r tree out; test \"$(readlink out/link)\" = " + deep + "/file");
}

BOOST_AUTO_TEST_CASE(the_same_tree_has_the_same_name_and_is_stored_once) {
    shell("mkdir -p tree; echo a > tree/a; echo b > tree/b; chmod 600 tree/a; touch -d 2001-01-01 tree/b");
    auto const first = pack();
    BOOST_TEST(!first.existed);
    BOOST_TEST(first.size_bytes == 4u);
    shell("rm -r tree; mkdir tree; echo b > tree/b; echo a > tree/a; chmod 640 tree/b");
    auto const second = pack();
    BOOST_TEST(second.existed);
    BOOST_TEST(second.sha256 == first.sha256);
    BOOST_TEST(must(list_directory(contexts)).size() == 1u);
    shell("echo c > tree/b");
    BOOST_TEST(pack().sha256 != first.sha256);
}

BOOST_AUTO_TEST_CASE(ignored_files_are_not_packed) {
    shell(
        "mkdir -p tree/data tree/__pycache__ tree/.git; echo x > tree/data/big; echo x > "
        "tree/__pycache__/a.pyc\n"
        "echo x > tree/.git/HEAD; echo x > tree/a.pyc; echo x > tree/keep; echo /data > tree/.detignore");
    unpack(pack());
    shell("test \"$(ls -A out | tr '\\n' ' ')\" = '.detignore keep '");
}

BOOST_AUTO_TEST_CASE(links_out_of_the_code_to_foreign_or_missing_files_are_reported) {
    shell("mkdir -p tree/sub; ln -s ../../x tree/sub/up; ln -s ../y tree/sub/fine; ln -s '" + foreign_file() +
          "' tree/absolute");
    auto const found = must_fail(try_to_pack());
    auto const text = explain(found);
    BOOST_TEST(text.find("/absolute' is a link") != std::string::npos);
    BOOST_TEST(text.find("/sub/up' is a link") != std::string::npos);
    BOOST_TEST(text.find("sub/fine") == std::string::npos);
    BOOST_TEST(to_int(found.exit_code()) == 3);
    BOOST_TEST(!path_exists(contexts));
}

BOOST_AUTO_TEST_CASE(what_links_out_of_the_code_lead_to_is_packed_if_it_belongs_to_the_user) {
    shell(
        "mkdir -p tree/sub lib/deep data; echo a > lib/a; echo b > lib/deep/b; echo d > data/d; chmod +x "
        "lib/a\n"
        "ln -s ../lib tree/lib; ln -s \"$PWD/data/d\" tree/sub/d; ln -s deep/b lib/inner; ln -s ../a "
        "lib/deep/up\n"
        "ln -s ../data lib/data; ln -s a lib/deep/gone");
    auto const packed = pack();
    BOOST_TEST(packed.size_bytes == 8u);
    unpack(packed);
    shell(
        "test ! -L out/lib; test ! -L out/sub/d; test \"$(readlink out/lib/inner out/lib/deep/up | xargs)\" "
        "= "
        "'deep/b ../a'\n"
        "cat out/lib/a out/lib/deep/b out/lib/inner out/lib/deep/up out/lib/data/d out/sub/d | xargs > all\n"
        "test \"$(cat all)\" = 'a b b a d d'; test -x out/lib/a");
    auto const text = warnings();
    BOOST_TEST(contains(text, "/tree/lib' is a link that leads out of the context: '"), text);
    BOOST_TEST(contains(text, "/lib' is packed in its place, 2 files, 4 B"), text);
    BOOST_TEST(contains(text, "/sub/d' is a link that leads out of the context: '"), text);
    BOOST_TEST(contains(text, "/data/d' is packed in its place, 1 file, 2 B"), text);
    BOOST_TEST(contains(text, "/lib/data' is a link that leads out"), text);
    BOOST_TEST(contains(text, "/deep/gone' is a link to 'a', which is not in the context"), text);
}

BOOST_AUTO_TEST_CASE(a_foreign_file_behind_a_link_out_of_the_code_is_refused) {
    shell("mkdir -p tree lib/deep; echo a > lib/a; ln -s ../lib tree/lib");
    shell("ln -s '" + foreign_file() + "' lib/deep/secret");
    BOOST_TEST(contains(refusal(), "/lib/deep/secret' is a link that leads out"), refusal());
    BOOST_TEST(contains(refusal(), "does not belong to you"), refusal());
    shell("rm lib/deep/secret; ln -s / tree/all");
    if (::geteuid() != 0) {
        BOOST_TEST(contains(refusal(), "'/' does not belong to you"), refusal());
        return;
    }
    shell("rm tree/all; cp foreign lib/deep/file; chown 65534 lib/deep/file");
    BOOST_TEST(contains(refusal(), "/lib/deep/file', which does not belong to you"), refusal());
    shell("rm lib/deep/file; mkdir lib/theirs; chown 65534 lib/theirs");
    BOOST_TEST(contains(refusal(), "/lib/theirs', which does not belong to you"), refusal());
    shell("rmdir lib/theirs; chown -h 65534 tree/lib");
    BOOST_TEST(contains(refusal(), "/tree/lib' is a link that leads out of the context: the link does not"),
               refusal());
    shell("chown -h 0 tree/lib");
    BOOST_TEST(pack().size_bytes == 2u);
}

BOOST_AUTO_TEST_CASE(the_owner_is_that_of_the_file_that_is_read) {
    if (::geteuid() != 0) {
        BOOST_TEST_MESSAGE("SKIPPED: only root may give files away");
        return;
    }
    for (std::string const change :
         {"chown 65534 lib/a", "mv lib/a old; ln -s ../secret lib/a", "chown 65534 file",
          "ln -sf secret file",
          "mv lib old; mkdir theirs; cp old/a theirs/a; chown -R 65534 theirs; ln -s theirs lib"}) {
        shell(
            "rm -rf tree lib old theirs file secret contexts; mkdir tree lib; echo a > lib/a; echo a > file; "
            "echo x > "
            "secret\n"
            "ln -s ../lib tree/lib; ln -s ../file tree/file");
        auto const listed = must(list_context({tree, {}}));
        must(pack_and_store(listed, contexts));
        shell("rm -r contexts; " + change);
        auto const error = must_fail(pack_and_store(listed, contexts));
        BOOST_TEST(contains(error.message, "changed while it was packed"), change << ": " << explain(error));
        BOOST_TEST(stored().empty(), change);
    }
}

BOOST_AUTO_TEST_CASE(links_that_lead_around_in_circles_are_reported) {
    shell("mkdir -p tree/sub; echo x > tree/x; ln -s ../.. tree/sub/parent");
    BOOST_TEST(contains(refusal(), "'../..' is a directory that holds the link"), refusal());
    shell("rm tree/sub/parent; ln -s \"$PWD/tree\" tree/sub/itself");
    BOOST_TEST(contains(refusal(), "/tree' is a directory that holds the link"), refusal());
    shell(
        "rm tree/sub/itself; mkdir one two; ln -s ../one tree/one; ln -s ../two one/two; ln -s ../one "
        "two/one");
    BOOST_TEST(
        contains(refusal(), "/two/one' is a link that leads out of the context: '../one' is a directory"),
        refusal());
    // Several links to one directory are no circle.
    shell("rm two/one; ln -s ../two tree/two; echo 2 > two/file");
    unpack(pack());
    shell("cmp out/one/two/file out/two/file");
}

BOOST_AUTO_TEST_CASE(rules_of_the_code_hold_for_what_links_lead_to) {
    shell(
        "mkdir -p tree lib/runs lib/__pycache__ data; echo a > lib/a; echo r > lib/runs/r; echo l > "
        "lib/runs.log\n"
        "echo p > lib/__pycache__/a.pyc; echo d > data/d; ln -s ../lib tree/lib; ln -s ../data tree/data\n"
        "printf '%s\\n' /lib/runs '*.log' data/ > tree/.detignore");
    unpack(pack());
    shell("test \"$(cd out; find . | sort | xargs)\" = '. ./.detignore ./lib ./lib/a'");
    BOOST_TEST(!contains(warnings(), "/tree/data'"), warnings());
    shell("truncate -s 96M lib/large");
    BOOST_TEST(contains(refusal(), "more than 95.0 MiB"), refusal());
    BOOST_TEST(contains(refusal(), "lib/large"), refusal());
}

BOOST_AUTO_TEST_CASE(a_context_over_95_mib_is_refused_with_its_largest_files) {
    shell(
        "mkdir -p tree/data; truncate -s 60M tree/data/large; truncate -s 36M tree/second; echo x > "
        "tree/small");
    auto const found = must_fail(try_to_pack());
    auto const text = explain(found);
    BOOST_TEST(text.find("96.0 MiB, more than 95.0 MiB") != std::string::npos, text);
    BOOST_TEST(text.find("data/large") < text.find("second"), text);
    BOOST_TEST(to_int(found.exit_code()) == 3);
    BOOST_TEST(!path_exists(contexts));
    shell("truncate -s 35M tree/second; rm tree/small");
    BOOST_TEST(pack().size_bytes == std::uint64_t{95} << 20);
}

BOOST_AUTO_TEST_CASE(a_context_that_is_not_a_directory_is_reported) {
    auto const absent = must_fail(try_to_pack({directory / "absent", {}}));
    BOOST_TEST(to_int(absent.exit_code()) == 4);
    shell("echo x > file; mkdir tree; mkfifo tree/fifo");
    BOOST_TEST(to_int(must_fail(try_to_pack({directory / "file", {}})).exit_code()) == 3);
    BOOST_TEST(to_int(must_fail(try_to_pack()).exit_code()) == 3);
}

BOOST_AUTO_TEST_CASE(after_a_failure_nothing_is_left_in_the_store) {
    shell("mkdir -p tree; echo x > tree/secret; chmod 000 tree/secret; mkdir contexts");
    if (::geteuid() == 0) shell("rm tree/secret; mkfifo tree/secret");  // root may read everything
    BOOST_TEST(!try_to_pack().has_value());
    BOOST_TEST(must(list_directory(contexts)).empty());
}

BOOST_AUTO_TEST_CASE(names_of_any_bytes_and_length_are_packed) {
    // A name of 255 bytes below a deep path, no UTF-8, a newline, and what a shell or tar could take for an
    // option.
    std::string deep = "tree";
    for (int i = 0; i < 12; ++i) deep += "/" + std::string(250, static_cast<char>('a' + i));
    shell("mkdir -p " + deep + "; echo deep > " + deep + "/" + std::string(255, 'z'));
    for (std::string const name :
         {"\xff\xfe", "two\nlines", "-rf", "--checkpoint=1", "\\back\tslash", " ", "@LongLink"})
        must(write_file(tree / name, "x"));
    must(write_file(tree / (std::string(120, '\xe4') + "\n"), "long and no UTF-8"));
    std::filesystem::create_symlink("\xff\xfe", tree / "link");
    unpack(pack());
    shell("diff -r --no-dereference tree out");
}

BOOST_AUTO_TEST_CASE(strange_names_are_escaped_in_messages) {
    must(make_directories(tree));
    std::filesystem::create_symlink(foreign_file(), tree / "two\nlines\x1b[31m\xff");
    BOOST_TEST(contains(refusal(), R"(/two\nlines\x1b[31m\xff' is a link that leads out)"), refusal());
}

BOOST_AUTO_TEST_CASE(paths_that_a_node_could_not_unpack_are_refused) {
    std::string script = "mkdir tree; cd -P tree";
    for (int i = 0; i < 20; ++i)
        script += "; mkdir " + std::string(250, 'd') + "; cd -P " + std::string(250, 'd');
    shell(script);
    BOOST_TEST(contains(refusal(), "bytes, more than 3800"), refusal());
}

BOOST_AUTO_TEST_CASE(every_member_has_one_owner_and_one_time) {
    shell("mkdir tree; echo x > tree/file; chmod 4755 tree/file");
    auto const packed = pack();
    shell("zstd -dcq " + archive(packed).string() + " | TZ=UTC tar -tv --numeric-owner -f - > listing");
    BOOST_TEST(must(read_file(directory / "listing")) ==
               "-rwxr-xr-x 0/0               2 1980-01-02 00:00 file\n");
}

BOOST_AUTO_TEST_CASE(hard_links_are_files) {
    shell("mkdir tree; echo x > tree/a; ln tree/a tree/b");
    unpack(pack());
    shell("diff -r tree out; test \"$(stat -c %h out/a)\" = 1");
}

BOOST_AUTO_TEST_CASE(special_files_are_reported_with_their_type) {
    shell("mkdir -p tree/sub; mkfifo tree/sub/pipe");
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    (tree / "sock").string().copy(address.sun_path, sizeof address.sun_path - 1);
    UniqueFd const socket(::socket(AF_UNIX, SOCK_STREAM, 0));
    BOOST_REQUIRE(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    auto const text = refusal();
    BOOST_TEST(contains(text, "/sub/pipe' is a fifo"), text);
    BOOST_TEST(contains(text, "/sock' is a socket"), text);
    must(write_file(tree / ".detignore", "pipe\n/sock\n"));
    BOOST_TEST(pack().size_bytes == 11u);
}

BOOST_AUTO_TEST_CASE(many_errors_are_counted_and_the_first_ones_reported) {
    shell("mkdir tree; cd tree; for i in $(seq 50); do mkfifo f$i; done");
    BOOST_TEST(contains(refusal(), "and 30 more like these"), refusal());
}

BOOST_AUTO_TEST_CASE(unreadable_files_are_reported) {
    if (::geteuid() == 0) {
        BOOST_TEST_MESSAGE("SKIPPED: root may read everything");
        return;
    }
    shell("mkdir -p tree/closed; echo x > tree/secret; chmod 0 tree/secret tree/closed");
    auto const text = refusal();
    shell("chmod 700 tree/closed");
    BOOST_TEST(contains(text, "/secret': Permission denied"), text);
    BOOST_TEST(contains(text, "/closed': Permission denied"), text);
    BOOST_TEST(!path_exists(contexts));
}

BOOST_AUTO_TEST_CASE(links_are_resolved_as_by_the_kernel) {
    shell(
        "mkdir -p tree/d/e other; cd tree; echo x > file\n"
        "ln -s ../.. d/e/up; ln -s d/e/up/../file sly\n"  // by its letters inside, in truth beside the tree
        "ln -s ./d/../d/e/up/file fine; ln -s loop loop; ln -s .. d/root; ln -s d/missing gone");
    auto const text = refusal();
    BOOST_TEST(contains(text, "/sly' is a link that leads out"), text);
    for (auto const* fine : {"/fine'", "/loop'", "/d/root'", "/gone'"})
        BOOST_TEST(!contains(text, fine), text);
    shell("rm tree/sly");
    auto const listed = must(list_context({tree, {}}));
    auto const warnings = explain(listed.warnings);
    BOOST_TEST(!listed.warnings.has_errors());
    BOOST_TEST(contains(warnings, "/loop' is a link to 'loop', which is not in the context"), warnings);
    BOOST_TEST(contains(warnings, "/gone' is a link to 'd/missing'"), warnings);
    BOOST_TEST(!contains(warnings, "/fine'"), warnings);
    unpack(pack());
    shell("test \"$(readlink out/loop)\" = loop; test \"$(cat out/fine)\" = x");
}

BOOST_AUTO_TEST_CASE(a_link_to_an_ignored_file_is_dangling) {
    shell(
        "mkdir -p tree/data; echo x > tree/data/set; ln -s data/set tree/set; echo /data > tree/.detignore");
    BOOST_TEST(contains(explain(must(list_context({tree, {}})).warnings), "/set' is a link to 'data/set'"));
}

BOOST_AUTO_TEST_CASE(files_that_change_after_the_listing_are_reported) {
    for (std::string const change :
         {"echo more >> tree/b", ": > tree/b", "rm tree/b", "rm tree/b; mkdir tree/b", "ln -sf a tree/b",
          "rm tree/b; mkfifo tree/b", "rm -r tree"}) {
        shell("rm -rf tree contexts; mkdir tree; echo a > tree/a; echo b > tree/b");
        auto const listed = must(list_context({tree, {}}));
        shell(change);
        auto const error = must_fail(pack_and_store(listed, contexts));
        BOOST_TEST(contains(error.message, "changed while it was packed"), change << ": " << explain(error));
        BOOST_TEST(stored().empty(), change);
    }
}

BOOST_AUTO_TEST_CASE(a_file_that_grows_across_blocks_is_found_too) {
    for (int const size : {512 * 1024 - 512, 512 * 1024 - 511, 512 * 1024, 3 << 20}) {
        shell("rm -rf tree; mkdir tree; head -c " + std::to_string(size) + " /dev/urandom > tree/a");
        auto const listed = must(list_context({tree, {}}));
        must(pack_and_store(listed, contexts));
        unpack(pack());
        shell("diff -r tree out; echo >> tree/a");
        BOOST_TEST(contains(must_fail(pack_and_store(listed, contexts)).message, "changed"), size);
    }
}

BOOST_AUTO_TEST_CASE(includes_are_at_the_root_under_their_names) {
    shell(
        "mkdir -p tree lib/sub; echo main > tree/main; echo a > lib/sub/a; echo b > lib/b; echo words > "
        "words.txt\n"
        "echo '/b' > lib/.detignore; ln -s sub/a lib/link; ln -s words.txt other.txt");
    auto const context = directory.path();
    unpack(must(try_to_pack({tree, {context / "lib/", context / "words.txt", context / "other.txt"}})));
    shell(
        "test \"$(cd out; find . | sort | xargs)\" = '. ./lib ./lib/.detignore ./lib/link ./lib/sub "
        "./lib/sub/a ./main "
        "./other.txt ./words.txt'; cmp out/other.txt words.txt; test ! -L out/other.txt; cmp out/lib/link "
        "lib/sub/a");
    unpack(must(try_to_pack({std::nullopt, {context / "lib/sub/.."}})));
    shell("test \"$(ls out)\" = lib");
}

BOOST_AUTO_TEST_CASE(two_members_of_one_name_are_both_reported) {
    shell("mkdir -p tree/lib lib x; echo 1 > x/lib; echo 1 > tree/.hidden; echo lib > tree/.detignore");
    must(try_to_pack({tree, {directory / "lib"}}));  // ignored files do not occupy names
    auto text = refusal({"lib", "x/lib"});
    BOOST_TEST(contains(text, "duplicate path detected: '" + (directory / "lib").string() + "' and '" +
                                  (directory / "x/lib").string() + "' would both be 'lib'"),
               text);
    shell("rm tree/.detignore");
    text = refusal({"lib"});
    BOOST_TEST(contains(text, "duplicate path detected: '" + (tree / "lib").string() + "' and '"), text);
}

BOOST_AUTO_TEST_CASE(invalid_includes_are_reported) {
    shell("mkdir tree lib; ln -s ../gone lib/out; mkfifo pipe");
    BOOST_TEST(contains(refusal({"nowhere"}), "cannot open the included '"));
    BOOST_TEST(contains(refusal({"pipe"}), "is a fifo"));
    BOOST_TEST(contains(refusal({"lib"}), "/lib/out' is a link that leads out"));
    BOOST_TEST(contains(explain(must_fail(list_context({tree, {"/"}}))), "has no name"));
}

BOOST_AUTO_TEST_CASE(the_size_limit_is_checked_without_reading_files) {
    shell(
        "mkdir tree; for i in 1 2 3 4 5 6; do truncate -s ${i}0M tree/f$i; done; truncate -s 7T tree/a "
        "tree/b tree/c\n"
        "truncate -s 1M more");
    auto const text = refusal({"more"});
    BOOST_TEST(contains(text, "[context-too-large]"), text);
    for (auto const* shown : {"  a", "  b", "  c", "  f6", "  f5"}) BOOST_TEST(contains(text, shown), text);
    BOOST_TEST(!contains(text, "  f4"), text);
    shell("rm tree/*; truncate -s 95M tree/f");
    BOOST_TEST(contains(refusal({"more"}), "96.0 MiB, more than 95.0 MiB"));
}

BOOST_AUTO_TEST_CASE(neither_order_nor_umask_nor_directory_modes_matter) {
    shell(
        "mkdir tree; cd tree; for i in $(seq 300); do echo $i > f$i; done; mkdir d; cd ..\n"
        "mkdir -p again; cd again; umask 077; mkdir d; for i in $(seq 300 -1 1); do echo $i > f$i; done; "
        "chmod 700 d");
    auto const first = pack();
    auto const second = must(try_to_pack({directory / "again", {}}));
    BOOST_TEST(first.sha256 == second.sha256);
    BOOST_TEST(second.existed);
    BOOST_TEST(stored().size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_large_tree_is_the_same_with_threads) {
    shell("mkdir tree; head -c 20000000 /dev/urandom > tree/a; seq 3000000 > tree/b");
    auto const packed = pack();
    unpack(packed);
    shell("diff -r tree out; test \"$(zstd -dcq " + archive(packed).string() +
          " | sha256sum | cut -c1-64)\" = " + packed.sha256);
}

BOOST_AUTO_TEST_CASE(several_processes_may_pack_the_same_tree) {
    shell("mkdir tree; head -c 3000000 /dev/urandom > tree/a");
    std::vector<Result<StoredContext, Diagnostics>> results(8, Diagnostics());
    std::vector<std::thread> threads;
    for (auto& result : results) threads.emplace_back([&] { result = try_to_pack(); });
    for (auto& thread : threads) thread.join();
    for (auto const& result : results) BOOST_TEST(result.has_value());
    BOOST_TEST(stored().size() == 1u);
    unpack(must(results[0]));
    shell("diff -r tree out");
}

BOOST_AUTO_TEST_CASE(only_a_damaged_archive_is_replaced) {
    shell("mkdir tree; head -c 300000 /dev/urandom > tree/a; seq 100000 > tree/b");
    auto const first = pack();
    auto const name = archive(first).string();
    shell("truncate -s -100 " + name);
    auto const second = pack();
    BOOST_TEST(second.was_repaired);
    BOOST_TEST(!second.existed);
    shell("zstd -tq " + name + "; zstd -dcq " + name + " | zstd -q -19 > other; cp other " + name);
    BOOST_TEST(pack().existed);
    shell("cmp other " + name);
    shell("rm " + name + "; mkdir " + name);
    BOOST_TEST(contains(explain(must_fail(try_to_pack())), "replace the damaged"));
    BOOST_TEST(stored().size() == 1u);
}

BOOST_AUTO_TEST_CASE(old_temporary_files_are_removed) {
    shell(
        "mkdir tree contexts; echo a > tree/a; cd contexts; touch .context.abcdef notes; touch -d '2 days "
        "ago' "
        ".context.old123 .keep.me");
    pack();
    auto const names = stored();
    BOOST_TEST(names.size() == 4u);
    BOOST_TEST(!path_exists(contexts / ".context.old123"));
    BOOST_TEST(path_exists(contexts / ".context.abcdef"));
}

BOOST_AUTO_TEST_CASE(archives_are_private_to_their_user) {
    shell("mkdir tree; echo a > tree/a");
    struct stat info {};
    BOOST_REQUIRE(::stat(archive(pack()).c_str(), &info) == 0);
    BOOST_TEST((info.st_mode & 0777) == 0600u);
    BOOST_TEST(info.st_nlink == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
