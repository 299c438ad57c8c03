#include <det/launch/node/node_directory.hpp>

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <mutex>
#include <optional>
#include <set>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "check_result.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace det::launch::node;

namespace node_directory_test {

Status write_marker(std::filesystem::path const& path) { return write_file(path / "marker", "x"); }

struct Fixture {
    TemporaryDirectory base;
    std::filesystem::path below(std::string const& name) const {
        return base / ("det-" + std::to_string(::getuid())) / name;
    }
};

}  // namespace node_directory_test

BOOST_FIXTURE_TEST_SUITE(node_directory_test, Fixture)

BOOST_AUTO_TEST_CASE(the_directory_has_the_same_name_on_every_node_unless_nodes_share_the_file_system) {
    BOOST_TEST(local_directory_name(base.path(), "7.3.0", "n1") == "7.3.0");
    BOOST_TEST(is_shared_by_nodes(0x6969));       // NFS
    BOOST_TEST(is_shared_by_nodes(0x0BD00BD0));   // Lustre
    BOOST_TEST(!is_shared_by_nodes(0xEF53));      // ext4
    BOOST_TEST(!is_shared_by_nodes(0x01021994));  // tmpfs
}

BOOST_AUTO_TEST_CASE(the_first_process_prepares_the_directory_and_the_last_removes_it) {
    int prepared = 0;
    auto const count = [&](std::filesystem::path const& path) {
        ++prepared;
        return write_marker(path);
    };
    {
        auto const first = must(NodeDirectory::enter(base.path(), "run", count));
        std::optional<NodeDirectory> second;
        second.emplace(must(NodeDirectory::enter(base.path(), "run", count)));
        BOOST_TEST(prepared == 1);
        BOOST_TEST(first.path() == second->path());
        second.reset();
        BOOST_TEST(path_exists(first.path() / "marker"));
    }
    BOOST_TEST(!path_exists(below("run")));
    BOOST_TEST(must(list_directory(below(""))).empty());
}

BOOST_AUTO_TEST_CASE(concurrent_processes_prepare_the_directory_once_and_completely) {
    std::atomic<int> prepared = 0, unready = 0;
    std::vector<std::jthread> tasks;
    for (int task = 0; task < 8; ++task) {
        tasks.emplace_back([&] {
            for (int round = 0; round < 50; ++round) {
                auto directory =
                    NodeDirectory::enter(base.path(), "run", [&](std::filesystem::path const& path) {
                        ++prepared;
                        return write_marker(path);
                    });
                if (!directory || !path_exists(directory->path() / "marker")) ++unready;
            }
        });
    }
    tasks.clear();
    BOOST_TEST(unready == 0);
    BOOST_TEST(prepared >= 1);
    BOOST_TEST(must(list_directory(below(""))).empty());
}

BOOST_AUTO_TEST_CASE(after_a_failed_preparation_the_next_one_tries_again) {
    auto const fails = [](std::filesystem::path const&) {
        return Status(Error{codes::damaged, "no archive"});
    };
    BOOST_TEST((must_fail(NodeDirectory::enter(base.path(), "run", fails)).code == codes::damaged));
    auto const again = must(NodeDirectory::enter(base.path(), "run", write_marker));
    BOOST_TEST(path_exists(again.path() / "marker"));
}

BOOST_AUTO_TEST_CASE(directories_of_killed_runs_are_removed) {
    must(make_directories(below("old/work")));
    must(write_file(below("old.users"), ""));
    auto const mine = must(NodeDirectory::enter(base.path(), "run", write_marker));
    BOOST_TEST(!path_exists(below("old")));
    BOOST_TEST(!path_exists(below("old.users")));
    BOOST_TEST(path_exists(mine.path()));
}

BOOST_AUTO_TEST_CASE(a_directory_that_others_can_enter_is_refused) {
    must(make_directory(base / ("det-" + std::to_string(::getuid())), 0700));
    BOOST_REQUIRE(::chmod(below("").parent_path().c_str(), 0755) == 0);
    BOOST_TEST(
        (must_fail(NodeDirectory::enter(base.path(), "run", write_marker)).code == codes::unsafe_owner));
}

BOOST_AUTO_TEST_CASE(a_symbolic_link_is_refused) {
    TemporaryDirectory elsewhere;
    std::filesystem::create_symlink(elsewhere.path(), base / ("det-" + std::to_string(::getuid())));
    BOOST_TEST(!NodeDirectory::enter(base.path(), "run", write_marker).has_value());
    BOOST_TEST(must(list_directory(elsewhere.path())).empty());
}

BOOST_AUTO_TEST_CASE(a_key_with_a_path_is_refused) {
    for (auto const* key : {"", "../x", "a/b", ".", "..", ".hidden"}) {
        BOOST_TEST(!NodeDirectory::enter(base.path(), key, write_marker).has_value(), key);
    }
}

BOOST_AUTO_TEST_CASE(a_name_that_another_user_has_taken_is_avoided_with_a_random_one) {
    auto const usual = base / ("det-" + std::to_string(::getuid()));
    must(write_file(usual, "no directory"));
    BOOST_TEST(
        (must_fail(NodeDirectory::enter(base.path(), "run", write_marker)).code == codes::unsafe_owner));
    {
        auto const first = must(NodeDirectory::enter(base.path(), "run", write_marker, {}, "4f2a"));
        auto const second = must(NodeDirectory::enter(base.path(), "run", write_marker, {}, "4f2a"));
        BOOST_TEST(first.path() == usual.string() + "-4f2a/run");
        BOOST_TEST(first.path() == second.path());
        BOOST_TEST(path_exists(first.path() / "marker"));
    }
    BOOST_TEST(!path_exists(usual.string() + "-4f2a"));
    BOOST_TEST((must_fail(NodeDirectory::enter(base.path(), "run", write_marker, {}, "../x")).code ==
                codes::bad_value));
}

BOOST_AUTO_TEST_CASE(processes_enter_while_the_last_one_leaves_and_removes_the_directory_with_a_suffix) {
    must(write_file(base / ("det-" + std::to_string(::getuid())), "no directory"));
    std::mutex mutex;
    std::set<std::string> failures;
    {
        std::vector<std::jthread> ranks;
        for (int rank = 0; rank < 4; ++rank) {
            ranks.emplace_back([&] {
                for (int i = 0; i < 300; ++i) {
                    auto const entered = NodeDirectory::enter(base.path(), "run", write_marker, {}, "4f2a");
                    if (entered) continue;
                    std::lock_guard const lock(mutex);
                    failures.insert(entered.error().message);
                }
            });
        }
    }
    BOOST_TEST(failures == std::set<std::string>(), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_killed_runs_have_left_in_directories_with_a_suffix_is_removed) {
    auto const usual = base / ("det-" + std::to_string(::getuid()));
    std::filesystem::path const killed = usual.string() + "-4f2a", launcher = usual.string() + "-slurm-12";
    must(make_directory(killed, 0700));
    must(make_directories(killed / "old/work"));
    must(write_file(killed / "old.users", ""));
    must(write_file(killed / "old.gate", ""));
    must(make_directory(launcher, 0700));  // an empty one may have just been made by another program
    std::filesystem::path const open = usual.string() + "-open";
    must(make_directory(open));
    BOOST_REQUIRE(::chmod(open.c_str(), 0777) == 0);
    must(write_file(open / "bait.users", ""));
    must(make_directory(open / "bait"));
    auto const mine = must(NodeDirectory::enter(base.path(), "run", write_marker));
    BOOST_TEST(!path_exists(killed));
    BOOST_TEST(path_exists(launcher));
    BOOST_TEST(path_exists(open / "bait"));
    auto const running = must(NodeDirectory::enter(base.path(), "other", write_marker));
    BOOST_TEST(path_exists(mine.path()));
}

BOOST_AUTO_TEST_CASE(a_run_that_goes_on_in_a_directory_with_a_suffix_keeps_it) {
    auto const usual = base / ("det-" + std::to_string(::getuid()));
    must(write_file(usual, "no directory"));
    auto const going_on = must(NodeDirectory::enter(base.path(), "run", write_marker, {}, "4f2a"));
    std::filesystem::remove(usual);
    auto const next = must(NodeDirectory::enter(base.path(), "next", write_marker));
    BOOST_TEST(path_exists(going_on.path() / "marker"));
}

BOOST_AUTO_TEST_SUITE_END()
