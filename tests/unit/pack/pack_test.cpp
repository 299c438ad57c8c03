#include <det/foundation/files.hpp>
#include <det/foundation/process.hpp>
#include <det/pack/pack.hpp>

#include <boost/test/unit_test.hpp>
#include <sys/stat.h>

#include "check_result.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace det::pack;

namespace {

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
    PackedContext pack() const { return must(pack_context(tree, contexts)); }
    /// What GNU tar makes of the archive.
    void unpack(PackedContext const& packed) const {
        shell("rm -rf out; mkdir out; zstd -dcq contexts/" + packed.sha256 + ".tar.zst | tar -xf - -C out");
    }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(pack_test, Fixture)

BOOST_AUTO_TEST_CASE(what_is_packed_comes_out_the_same) {
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
    BOOST_TEST(!first.was_there);
    BOOST_TEST(first.size_bytes == 4u);
    shell("rm -r tree; mkdir tree; echo b > tree/b; echo a > tree/a; chmod 640 tree/b");
    auto const second = pack();
    BOOST_TEST(second.was_there);
    BOOST_TEST(second.sha256 == first.sha256);
    BOOST_TEST(must(list_directory(contexts)).size() == 1u);
    shell("echo c > tree/b");
    BOOST_TEST(pack().sha256 != first.sha256);
}

BOOST_AUTO_TEST_CASE(what_detignore_lists_stays_out) {
    shell(
        "mkdir -p tree/data tree/__pycache__ tree/.git; echo x > tree/data/big; echo x > "
        "tree/__pycache__/a.pyc\n"
        "echo x > tree/.git/HEAD; echo x > tree/a.pyc; echo x > tree/keep; echo /data > tree/.detignore");
    unpack(pack());
    shell("test \"$(ls -A out | tr '\\n' ' ')\" = '.detignore keep '");
}

BOOST_AUTO_TEST_CASE(links_that_lead_out_are_named) {
    shell(
        "mkdir -p tree/sub; ln -s /etc/passwd tree/absolute; ln -s ../../x tree/sub/up; ln -s ../y "
        "tree/sub/fine");
    auto const found = must_fail(pack_context(tree, contexts));
    auto const text = explain(found);
    BOOST_TEST(text.find("'absolute'") != std::string::npos);
    BOOST_TEST(text.find("'sub/up'") != std::string::npos);
    BOOST_TEST(text.find("sub/fine") == std::string::npos);
    BOOST_TEST(to_int(found.exit_code()) == 3);
    BOOST_TEST(!path_exists(contexts));
}

BOOST_AUTO_TEST_CASE(a_context_over_95_mib_is_refused_with_its_largest_files) {
    shell(
        "mkdir -p tree/data; truncate -s 60M tree/data/large; truncate -s 36M tree/second; echo x > "
        "tree/small");
    auto const found = must_fail(pack_context(tree, contexts));
    auto const text = explain(found);
    BOOST_TEST(text.find("96.0 MiB, more than 95.0 MiB") != std::string::npos, text);
    BOOST_TEST(text.find("data/large") < text.find("second"), text);
    BOOST_TEST(to_int(found.exit_code()) == 3);
    BOOST_TEST(!path_exists(contexts));
    shell("truncate -s 35M tree/second; rm tree/small");
    BOOST_TEST(pack().size_bytes == std::uint64_t{95} << 20);
}

BOOST_AUTO_TEST_CASE(a_context_that_is_no_directory_says_so) {
    auto const absent = must_fail(pack_context(directory / "absent", contexts));
    BOOST_TEST(to_int(absent.exit_code()) == 4);
    shell("echo x > file; mkdir tree; mkfifo tree/fifo");
    BOOST_TEST(to_int(must_fail(pack_context(directory / "file", contexts)).exit_code()) == 3);
    BOOST_TEST(to_int(must_fail(pack_context(tree, contexts)).exit_code()) == 3);
}

BOOST_AUTO_TEST_CASE(after_a_failure_nothing_is_left_in_the_store) {
    shell("mkdir -p tree; echo x > tree/secret; chmod 000 tree/secret; mkdir contexts");
    if (::geteuid() == 0) shell("rm tree/secret; mkfifo tree/secret");  // root may read everything
    BOOST_TEST(!pack_context(tree, contexts).has_value());
    BOOST_TEST(must(list_directory(contexts)).empty());
}

BOOST_AUTO_TEST_SUITE_END()
