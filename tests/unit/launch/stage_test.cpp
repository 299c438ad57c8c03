// The files of slurm.stage on the disk of a node: kept by their hash and within a limit, also after kill -9.
#include <det/collectives/distributed_context.hpp>
#include <det/foundation/process.hpp>
#include <det/foundation/text.hpp>

#include <array>
#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <functional>
#include <sched.h>
#include <set>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "check_result.hpp"
#include "stage_files.hpp"
#include "stage_transfer.hpp"
#include "temporary_directory.hpp"
#include "thread_transport.hpp"

using namespace det;
using namespace det::launch::supervisor;

namespace stage_test {

namespace fs = std::filesystem;

/// Starts a process that ends with 0 if `body` returns true.
pid_t start_child(std::function<bool()> const& body) {
    auto const child = ::fork();
    if (child != 0) return child;
    try {
        ::_exit(body() ? 0 : 1);
    } catch (...) {
        ::_exit(2);
    }
}

/// The status of waitpid(2).
int wait_for_child(pid_t child) {
    int status = -1;
    ::waitpid(child, &status, 0);
    return status;
}

StageCache::Clock::time_point at_once() { return StageCache::Clock::now(); }

struct Fixture {
    TemporaryDirectory directory;
    std::set<std::string> running;  // jobs other than the one that stages
    int questions = 0;              // to Slurm
    DiskSpace space{1'000'000'000, 2'000'000'000};

    StageCache open(std::string const& job = "1", std::optional<std::uint64_t> limit_bytes = {},
                    std::string const& node = "n0") {
        return must(StageCache::open(directory / (node + "/stage"),
                                     {job, node, limit_bytes,
                                      [this] {
                                          ++questions;
                                          return std::optional(running);
                                      },
                                      [this](fs::path const&) { return Result<DiskSpace>(space); }}));
    }
    void shell(std::string const& script) const {
        SystemProcessRunner runner;
        auto const output =
            must(runner.run({{"/bin/sh", "-ec", "cd '" + directory.path().string() + "'\n" + script},
                             Environment::of_this_process()}));
        BOOST_REQUIRE_MESSAGE(output.exit_code == 0, script << ": " << output.err);
    }
    /// A file of the directory, as a submission records it.
    StageItem item(std::string const& name) const {
        auto const path = directory / name;
        auto const bytes = must(read_file(path));
        Sha256 hash;
        hash.update(bytes);
        return item_of({path.string(), bytes.size(), hash.finish()});
    }
    StageItem file(std::string const& name, std::string const& bytes) const {
        must(write_file(directory / name, bytes));
        return item(name);
    }
    /// Brings the item to the node unless it has it. \return whether the node had it
    bool bring(StageCache& cache, StageItem const& wanted) const {
        if (must(cache.use(wanted))) return true;
        must(copy(cache, wanted));
        return false;
    }
    static Status copy(StageCache& cache, StageItem const& wanted) {
        StageTask task{wanted};
        DET_TRY_ASSIGN(task.copy, cache.begin(wanted, at_once()));
        BOOST_REQUIRE(task.copy);
        DET_TRY(copy_alone(task));
        return task.copy->finish();
    }
    std::vector<std::string> names(std::string const& below, std::string const& node = "n0") const {
        return must(list_directory(directory / (node + "/stage/" + below)));
    }
};

}  // namespace stage_test
using namespace stage_test;

BOOST_FIXTURE_TEST_SUITE(stage_test, Fixture)

BOOST_AUTO_TEST_CASE(names_on_the_node_are_those_of_files_and_of_archives_without_their_suffix) {
    BOOST_TEST(staged_name("/a/image.sqsh") == "image.sqsh");
    for (auto const* path : {"/a/env.tar", "/a/env.tar.gz", "/a/env.tgz", "/a/env.tar.zst"}) {
        BOOST_TEST(staged_name(path) == "env");
        BOOST_TEST(is_staged_archive(path));
    }
    BOOST_TEST(!is_staged_archive("/a.tar/file"));
    BOOST_TEST(staged_name("/a/.tar") == ".tar");
    BOOST_TEST(!is_staged_archive("/a/.tar"));
}

BOOST_AUTO_TEST_CASE(a_file_is_brought_once_and_found_by_later_jobs) {
    auto const wanted = file("image.sqsh", "an image");
    auto first = open("1");
    BOOST_TEST(!bring(first, wanted));
    BOOST_TEST(must(read_file(first.job_directory() / "image.sqsh")) == "an image");
    must(remove_tree(wanted.path));  // no later job reads it
    auto second = open("2");
    BOOST_TEST(bring(second, wanted));
    BOOST_TEST(must(read_file(second.job_directory() / "image.sqsh")) == "an image");
    BOOST_TEST(names("entries").size() == 1u);
    BOOST_TEST(names("incoming").empty());
}

BOOST_AUTO_TEST_CASE(a_file_that_has_changed_since_the_submission_is_refused) {
    auto const wanted = file("f", "what was submitted");
    must(write_file(directory / "f", "what is there now!"));
    auto cache = open();
    auto const error = must_fail(copy(cache, wanted));
    BOOST_TEST(error.message.find("has changed since the experiment was submitted") != std::string::npos,
               error.message);
    must(write_file(directory / "f", "short"));
    BOOST_TEST(must_fail(copy(cache, wanted)).message.find("is shorter than when") != std::string::npos);
    BOOST_TEST(names("entries").empty());
    BOOST_TEST(names("incoming").empty());
}

BOOST_AUTO_TEST_CASE(archives_are_unpacked_with_their_links) {
    shell(
        "mkdir -p env/bin; echo hi >env/bin/run; chmod 755 env/bin/run; ln env/bin/run env/bin/same\n"
        "ln -s run env/bin/link; ln -s /usr/bin/env env/bin/outside; mkdir -m 555 env/kept\n"
        "tar -cf a.tar -C env .; tar -czf b.tar.gz -C env .; tar --zstd -cf c.tar.zst -C env .");
    auto cache = open();
    for (auto const* name : {"a.tar", "b.tar.gz", "c.tar.zst"}) {
        BOOST_TEST(!bring(cache, item(name)));
        BOOST_TEST(bring(cache, item(name)));
        auto const unpacked = cache.job_directory() / staged_name(name);
        shell(fmt::format(
            "cd '{}'; test -x bin/run; test bin/run -ef bin/same; test \"$(readlink bin/link)\" = run; "
            "test \"$(readlink bin/outside)\" = /usr/bin/env; test -d kept; test ! -e archive",
            unpacked.string()));
    }
    // The same bytes as a file of another name are not unpacked.
    shell("cp a.tar plain");
    BOOST_TEST(!bring(cache, item("plain")));
    BOOST_TEST(fs::is_regular_file(cache.job_directory() / "plain"));
}

BOOST_AUTO_TEST_CASE(a_hostile_archive_writes_nothing_outside_and_leaves_nothing) {
    shell(
        "mkdir -p tree; echo evil >tree/file; echo evil >file; echo secret >secret; ln -sfn \"$PWD\" "
        "tree/up; mkfifo "
        "tree/fifo\n"
        "tar -cf parent.tar -P --transform 's,^tree/file,../escaped,' tree/file\n"
        "tar -cf absolute.tar -P --transform \"s,^tree/file,$PWD/escaped,\" tree/file\n"
        "tar -cf link.tar -C tree up; tar -rf link.tar --transform 's,^file,up/escaped,' file\n"
        "tar -cf fifo.tar -C tree fifo\n"
        "head -c 3000000 /dev/zero >tree/large; tar --zstd -cf bomb.tar.zst -C tree large\n"
        "head -c 100 fifo.tar >cut.tar; head -c 4096 /dev/urandom >noise.tar");
    must(write_file(directory / "links.py",
                    "import os, tarfile\n"
                    "def make(archive, *members):\n"
                    "    with tarfile.open(archive, 'w') as tar:\n"
                    "        for name, kind, target in members:\n"
                    "            member = tarfile.TarInfo(name)\n"
                    "            member.type, member.linkname = kind, target\n"
                    "            tar.addfile(member)\n"
                    "up = ('up', tarfile.SYMTYPE, os.getcwd())\n"
                    "make('hard.tar', ('got', tarfile.LNKTYPE, '../../../../../secret'))\n"
                    "make('absolute-hard.tar', ('got', tarfile.LNKTYPE, os.getcwd() + '/secret'))\n"
                    "make('through.tar', up, ('got', tarfile.LNKTYPE, 'up/secret'))\n"));
    shell("python3 links.py");
    auto cache = open("1", 1'000'000);
    for (auto const* name : {"parent.tar", "absolute.tar", "link.tar", "hard.tar", "absolute-hard.tar",
                             "fifo.tar", "bomb.tar.zst", "cut.tar", "noise.tar", "through.tar"}) {
        auto const error = must_fail(copy(cache, item(name)));
        BOOST_TEST(error.notes.size() == 1u, name);
        BOOST_TEST(names("entries").empty(), name);
        BOOST_TEST(names("incoming").empty(), name);
    }
    BOOST_TEST(!path_exists(directory / "escaped"));
    shell("test $(stat -c %h secret) = 1");
}

BOOST_AUTO_TEST_CASE(the_least_recently_used_goes_and_nothing_that_a_running_job_uses) {
    std::array<StageItem, 4> items;
    for (std::size_t i = 0; i < items.size(); ++i)
        items[i] = file(fmt::format("f{}", i), std::string(400, static_cast<char>('a' + i)));
    auto first = open("1", 1000);
    BOOST_TEST(!bring(first, items[0]));
    auto second = open("2", 1000);
    BOOST_TEST(!bring(second, items[1]));
    BOOST_TEST(questions == 0);  // Slurm is asked only if something has to go
    // Job 1 has ended, job 2 runs.
    running = {"2"};
    auto third = open("3", 1000);
    BOOST_TEST(!bring(third, items[2]));
    BOOST_TEST(questions > 0);
    BOOST_TEST(!must(open("4", 1000).use(items[0])));
    BOOST_TEST(must(open("4", 1000).use(items[1])));
    running = {"2", "3"};
    auto last = open("5", 1000);
    auto const error = must_fail(last.begin(items[3], at_once()));
    BOOST_TEST(error.message.find("slurm.stage_limit allows 1000 B, of which jobs that run use 800 B") !=
                   std::string::npos,
               error.message);
    BOOST_TEST(error.message.find("on node n0") != std::string::npos, error.message);
    BOOST_TEST(path_exists(second.job_directory() / "f1"));
    running = {};
    timespec const long_ago[2] = {{1'000'000, 0}, {1'000'000, 0}};
    auto const oldest = directory / "n0/stage/entries" / items[2].key;
    BOOST_REQUIRE(::utimensat(AT_FDCWD, oldest.c_str(), long_ago, 0) == 0);
    BOOST_TEST(!bring(last, items[3]));
    BOOST_TEST(must(last.use(items[1])));
    BOOST_TEST(!path_exists(oldest));
    BOOST_TEST(names("entries").size() == 2u);
}

BOOST_AUTO_TEST_CASE(what_no_job_has_used_for_a_month_goes_when_another_file_comes) {
    auto first = open("1");
    auto const kept = file("kept", "kept"), unused = file("unused", "unused"),
               in_use = file("in_use", "in use");
    for (auto const& each : {kept, unused}) BOOST_TEST(!bring(first, each));
    auto second = open("2");
    BOOST_TEST(!bring(second, in_use));
    timespec const long_ago[2] = {{1'000'000, 0}, {1'000'000, 0}};
    for (auto const& each : {unused, in_use})
        BOOST_REQUIRE(
            ::utimensat(AT_FDCWD, (directory / "n0/stage/entries" / each.key).c_str(), long_ago, 0) == 0);
    running = {"2"};
    auto third = open("3");
    BOOST_TEST(!bring(third, file("new", "new")));
    BOOST_TEST(!must(third.use(unused)));
    BOOST_TEST(must(third.use(in_use)));
    BOOST_TEST(must(third.use(kept)));
}

BOOST_AUTO_TEST_CASE(a_full_disk_is_described_by_place_need_and_free_space) {
    auto const wanted = file("big.sqsh", std::string(5000, 'x'));
    space.free_bytes = 1000;
    auto cache = open();
    auto const error = must_fail(cache.begin(wanted, at_once()));
    auto const expected =
        fmt::format("'{}' on node n0 has no space for '{}': it needs {}, and {} are free",
                    (directory / "n0/stage").string(), wanted.path, format_size(5000), format_size(1000));
    BOOST_TEST(error.message == expected);
    BOOST_TEST(error.hint.find("DET_LOCAL_DIR") != std::string::npos);
    // What no job uses makes room.
    space.free_bytes = 100'000;
    auto old = open("9");
    BOOST_TEST(!bring(old, file("old", std::string(4500, 'o'))));
    space.free_bytes = 1000;
    BOOST_TEST(!bring(cache, wanted));
    BOOST_TEST(names("entries").size() == 1u);
}

BOOST_AUTO_TEST_CASE(room_is_made_for_all_files_that_are_begun) {
    auto const first = file("first", std::string(6000, 'f')), second = file("second", std::string(6000, 's'));
    auto old = open("9");
    BOOST_TEST(!bring(old, file("old", std::string(5000, 'o'))));
    space.free_bytes = 10'000;
    auto cache = open();
    auto const one = must(cache.begin(first, at_once()));
    BOOST_TEST(names("entries").size() == 1u);
    auto const other = must(cache.begin(second, at_once()));
    BOOST_REQUIRE((one && other));
    BOOST_TEST(names("entries").empty());
}

BOOST_AUTO_TEST_CASE(a_disk_that_is_full_while_it_is_written_is_described_too) {
    if (::geteuid() != 0) {
        BOOST_TEST_MESSAGE("skipped: only root can mount a small disk");
        return;
    }
    shell(
        "mkdir small tree; head -c 3000000 /dev/urandom >large; head -c 3000000 /dev/zero >tree/zeros\n"
        "tar --zstd -cf env.tar.zst -C tree zeros");
    auto const large = item("large"), archive = item("env.tar.zst");
    auto const child = start_child([&] {
        // The disk is gone with the process, because it is mounted in a namespace of its own.
        auto const disk = directory / "small";
        bool const is_mounted = ::unshare(CLONE_NEWNS) == 0 &&
                                ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                                ::mount("none", disk.c_str(), "tmpfs", 0, "size=1m") == 0;
        // Other processes fill the disk after this one has looked at it.
        bool has_looked = false;
        auto const find_space = [&](fs::path const& path) -> Result<DiskSpace> {
            if (std::exchange(has_looked, true)) return find_disk_space(path);
            return DiskSpace{1'000'000'000, 2'000'000'000};
        };
        auto cache = must(StageCache::open(
            disk / "stage", {"1", "n0", 100'000'000, [] { return std::set<std::string>(); }, find_space}));
        auto const is_described = [&](StageItem const& wanted) {
            has_looked = false;
            auto const copied = copy(cache, wanted);
            return !copied && copied.error().message.find("has no space for") != std::string::npos;
        };
        return is_mounted && is_described(large) && is_described(archive);
    });
    BOOST_TEST(wait_for_child(child) == 0);
}

BOOST_AUTO_TEST_CASE(what_a_killed_process_has_begun_is_removed_and_made_anew) {
    auto const wanted = file("f", std::string(100'000, 'k'));
    auto const child = start_child([&] {
        auto cache = open("1");
        auto begun = cache.begin(wanted, at_once());
        (void)(*begun)->append("kk");
        return ::kill(::getpid(), SIGKILL) == 0;
    });
    BOOST_REQUIRE(WIFSIGNALED(wait_for_child(child)));
    BOOST_TEST(names("incoming").size() == 1u);
    auto cache = open("2");
    BOOST_TEST(!bring(cache, wanted));
    BOOST_TEST(names("incoming").empty());
    BOOST_TEST(must(read_file(cache.job_directory() / "f")).size() == 100'000u);
}

BOOST_AUTO_TEST_CASE(of_two_jobs_at_once_one_brings_the_file_and_the_other_waits) {
    auto const wanted = file("f", std::string(3'000'000, 'z'));
    auto first = open("1"), second = open("2");
    auto making = must(first.begin(wanted, at_once()));
    BOOST_REQUIRE(making);
    BOOST_TEST(
        !must(second.begin(wanted, at_once())));  // it does not wait here: its nodes may wait for this one
    std::jthread const other([&] {
        auto waited = second.begin(wanted, at_once() + std::chrono::seconds(60));
        if (!waited || !*waited || !second.use(wanted).value_or(false))
            BOOST_FAIL("the second job has no file");
    });
    StageTask task{wanted};
    task.copy = std::move(making);
    must(copy_alone(task));
    must(task.copy->finish());
}

/// Lets a job use one file after the other, as its only one. \return whether it had each of them
bool use_in_turn(Fixture& fixture, std::string const& job, std::vector<StageItem> const& items,
                 std::size_t stride) {
    constexpr std::size_t rounds = 40;
    for (std::size_t round = 0; round < rounds; ++round) {
        auto const& wanted = items[round * stride % items.size()];
        auto cache = fixture.open(job, 85'000);
        must(remove_tree(cache.job_directory()));
        if (!must(cache.use(wanted))) {
            StageTask task{wanted};
            task.copy = must(cache.begin(wanted, at_once() + std::chrono::seconds(60)));
            if (!task.copy) return false;
            if (!must(cache.use(wanted))) {
                must(copy_alone(task));
                must(task.copy->finish());
            }
        }
        auto const text = must(read_file(cache.job_directory() / wanted.name));
        if (text != std::string(10'000, text.front()) || "f-" + text.substr(0, 1) != wanted.name)
            return false;
    }
    return true;
}

BOOST_AUTO_TEST_CASE(many_processes_stage_many_files_at_once_within_the_limit) {
    std::vector<StageItem> items;
    for (char letter = 'a'; letter < 'm'; ++letter)
        items.push_back(file(fmt::format("f-{}", letter), std::string(10'000, letter)));
    // Of twelve files eight are kept; each of six jobs uses one at a time.
    std::vector<pid_t> children;
    for (std::size_t i = 0; i < 6; ++i) running.insert(std::to_string(i));
    for (std::size_t i = 0; i < 6; ++i)
        children.push_back(
            start_child([&, i] { return use_in_turn(*this, std::to_string(i), items, 2 * i + 1); }));
    for (auto const child : children) BOOST_TEST(wait_for_child(child) == 0);
    std::uintmax_t total = 0;
    for (auto const& name : names("entries"))
        total += fs::file_size(directory / "n0/stage/entries" / name / "content");
    BOOST_TEST(total <= 85'000u);
    BOOST_TEST(names("incoming").empty());
}

BOOST_AUTO_TEST_CASE(entries_of_before_the_start_of_the_node_are_made_anew) {
    auto const wanted = file("f", "text");
    auto cache = open();
    BOOST_TEST(!bring(cache, wanted));
    must(write_file(directory / ("n0/stage/entries/" + wanted.key + "/facts"), "4 another-boot\n"));
    BOOST_TEST(!must(cache.use(wanted)));
    BOOST_TEST(!bring(cache, wanted));
    // A file that was cut is noticed by its size.
    shell("chmod 700 n0/stage/entries/*/content; printf x >$(echo n0/stage/entries/*/content)");
    BOOST_TEST(!must(cache.use(wanted)));
}

BOOST_AUTO_TEST_CASE(one_of_several_nodes_reads_a_file_and_sends_it_to_the_others) {
    constexpr int nodes = 4;
    shell(
        "head -c 20000000 /dev/urandom >image; mkdir tree; cp image tree/; tar --zstd -cf env.tar.zst -C "
        "tree .; : >empty");
    std::array const items{item("image"), item("env.tar.zst"), item("empty")};
    std::vector<StageCache> caches;
    for (int i = 0; i < nodes; ++i)
        caches.push_back(open("1", std::uint64_t{100'000'000}, fmt::format("n{}", i)));
    BOOST_TEST(!bring(caches[2], items[0]));  // node 2 has the first file already
    auto transports = transport::make_thread_transports(nodes);
    std::vector<Status> ends(nodes, Ok{});
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < nodes; ++i) {
            threads.emplace_back(
                [&, i, transport = std::move(transports[static_cast<std::size_t>(i)])]() mutable {
                    auto const at = static_cast<std::size_t>(i);
                    ends[at] = [&]() -> Status {
                        DET_TRY_ASSIGN(auto context, collectives::DistributedContext::make(
                                                         std::move(transport), {0, 1, i, nodes}));
                        for (auto wanted : items) {
                            if (i != 0) wanted.path = "/no/such/file";  // only node 0 reads
                            StageTask task{wanted};
                            DET_TRY_ASSIGN(task.is_there, caches[at].use(wanted));
                            if (!task.is_there) {
                                DET_TRY_ASSIGN(task.copy, caches[at].begin(wanted, at_once()));
                            }
                            DET_TRY(copy_together(task, context));
                            if (task.copy) DET_TRY(task.copy->finish());
                        }
                        // A file that can't be read is an error on all nodes, and the next one still works.
                        StageTask absent{{"absent", "/no/such/file", 5, "", "absent"}};
                        if (copy_together(absent, context))
                            return Error{codes::internal, "an absent file was sent"};
                        return context.barrier();
                    }();
                });
        }
    }
    for (int i = 0; i < nodes; ++i) {
        BOOST_TEST(
            ends[static_cast<std::size_t>(i)].has_value(),
            (ends[static_cast<std::size_t>(i)] ? "" : ends[static_cast<std::size_t>(i)].error().message));
        shell(
            fmt::format("cd n{}/stage/jobs/1; cmp image ../../../../image; cmp env/image ../../../../image; "
                        "test -e empty; test ! -s empty",
                        i));
    }
}

BOOST_AUTO_TEST_CASE(small_code_on_few_nodes_starts_without_a_further_step) {
    constexpr std::uint64_t mib = 1 << 20;
    BOOST_TEST(!sends_code(95 * mib, 1, true));
    BOOST_TEST(!sends_code(mib, 16, false));
    BOOST_TEST(sends_code(mib, 16, true));
    BOOST_TEST(sends_code(95 * mib, 4, false));
    BOOST_TEST(sends_code(mib, 256, false));
}

BOOST_AUTO_TEST_SUITE_END()
