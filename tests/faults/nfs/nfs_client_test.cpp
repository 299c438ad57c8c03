// The NFS client of the fault campaigns (faults-nfs-client) does what README.md says. Two mounts of one
// directory are two hosts.
#include <det/foundation/files.hpp>
#include <det/foundation/temporary_names.hpp>

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <future>
#include <random>
#include <sched.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include "check_result.hpp"
#include "dirty_data.hpp"
#include "nfs_host.hpp"
#include "temporary_directory.hpp"
#include "test_paths.hpp"

namespace nfs_client_test {

using namespace det;
using namespace det::faults;
using namespace std::chrono_literals;

/// Keeps the mounts of these tests from the other processes of the machine.
bool enter_own_mount_namespace() {
    static bool const entered =
        ::unshare(CLONE_NEWNS) == 0 && ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
    return entered;
}

/// Two hosts that have mounted one directory of a server.
class TwoHosts {
public:
    /// \param cache_s a long time by default, so that no cache ends during a test
    explicit TwoHosts(int cache_s = 1000) {
        auto obstacle = NfsHost::find_obstacle();
        if (obstacle.empty() && !enter_own_mount_namespace()) obstacle = "no mount namespace can be made";
        if (!obstacle.empty()) BOOST_TEST_MESSAGE("SKIPPED: " << obstacle);
        if (!obstacle.empty()) return;
        for (auto const* name : {"server", "a", "b"}) must(make_directory(directory_ / name, 0755));
        a_ = start("a", cache_s);
        b_ = start("b", cache_s);
    }
    bool are_up() const { return a_ != nullptr; }
    std::filesystem::path server(std::string const& name) const { return directory_ / "server" / name; }
    std::filesystem::path a(std::string const& name) const { return directory_ / "a" / name; }
    std::filesystem::path b(std::string const& name) const { return directory_ / "b" / name; }
    NfsHost const& host_a() const { return *a_; }
    /// Ends the program of host A, as the end of a node does.
    void end_a() { a_.reset(); }
    void end_b() { b_.reset(); }

private:
    std::unique_ptr<NfsHost> start(std::string const& name, int cache_s) const {
        return must(NfsHost::start({test::built_path("tests/faults-nfs-client"),
                                    (directory_ / "server").string(), (directory_ / name).string(), "--cache",
                                    std::to_string(cache_s), "--write-back", "1000"}));
    }

    TemporaryDirectory directory_;
    std::unique_ptr<NfsHost> a_, b_;
};

/// -1: the host has no such file.
off_t size_of(std::filesystem::path const& path) {
    struct stat info {};
    return ::stat(path.c_str(), &info) == 0 ? info.st_size : -1;
}

void append(std::filesystem::path const& path, std::string_view text) {
    UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
    must(write_all(file.get(), text, path.string()));
    BOOST_REQUIRE(::close(file.release()) == 0);
}

std::string text_of(std::filesystem::path const& path) { return must(read_file(path)); }

/// The errno of a call; 0: it has succeeded.
int error_of(int result) { return result == 0 ? 0 : errno; }

constexpr auto limit = 30s;  // of a wait

template <class Predicate>
bool becomes_true(Predicate const& holds) {
    auto const deadline = std::chrono::steady_clock::now() + limit;
    while (!holds() && std::chrono::steady_clock::now() < deadline) std::this_thread::sleep_for(10ms);
    return holds();
}

/// Whether a thread of this process waits in the kernel.
bool is_blocked(pid_t thread) {
    auto const stat = must(read_file(fmt::format("/proc/self/task/{}/stat", thread)));
    auto const state = stat.at(stat.rfind(')') + 2);
    return state == 'S' || state == 'D';
}

BOOST_AUTO_TEST_CASE(written_data_is_the_same_whatever_the_order_of_writes) {
    std::mt19937 random(1);
    for (int round = 0; round < 50; ++round) {
        DirtyData dirty;
        std::string expected(300, '.');
        for (int i = 0; i < 40; ++i) {
            auto const offset = random() % 250;
            std::string const text(1 + random() % 50, static_cast<char>('a' + i % 26));
            dirty.write(offset, text, {});
            expected.replace(offset, text.size(), text);
            std::string seen(300, '.');
            dirty.overlay(0, seen);
            BOOST_REQUIRE(seen == expected);
        }
        std::uint64_t end = 0;
        for (auto const& [offset, text] : dirty.extents()) {
            BOOST_REQUIRE((end == 0 || offset > end));
            end = offset + text.size();
        }
        BOOST_TEST(dirty.end() == end);
        std::string part(20, '.');
        dirty.overlay(100, part);
        BOOST_TEST(part == expected.substr(100, 20));
    }
}

BOOST_AUTO_TEST_CASE(a_host_shows_old_attributes_until_it_opens_the_file) {
    TwoHosts const hosts;
    if (!hosts.are_up()) return;
    append(hosts.a("file"), "1");
    BOOST_TEST(size_of(hosts.b("file")) == 1);
    append(hosts.a("file"), "23");
    BOOST_TEST(size_of(hosts.a("file")) == 3);
    BOOST_TEST(size_of(hosts.b("file")) == 1);
    BOOST_TEST(text_of(hosts.b("file")) == "123");
    BOOST_TEST(size_of(hosts.b("file")) == 3);
}

BOOST_AUTO_TEST_CASE(an_open_file_shows_what_another_host_appends_only_after_it_is_opened_again) {
    TwoHosts const hosts;
    if (!hosts.are_up()) return;
    append(hosts.a("file"), "1");
    UniqueFd const file(::open(hosts.b("file").c_str(), O_RDONLY | O_CLOEXEC));
    char bytes[8] = {};
    BOOST_TEST(::pread(file.get(), bytes, sizeof bytes, 0) == 1);
    append(hosts.a("file"), "23");
    BOOST_TEST(::pread(file.get(), bytes, sizeof bytes, 0) == 1);
    UniqueFd const again(::open(hosts.b("file").c_str(), O_RDONLY | O_CLOEXEC));
    BOOST_TEST(::pread(again.get(), bytes, sizeof bytes, 0) == 3);
}

BOOST_AUTO_TEST_CASE(a_host_remembers_that_a_name_is_absent_until_it_opens_the_directory) {
    TwoHosts const hosts;
    if (!hosts.are_up()) return;
    must(make_directory(hosts.a("directory"), 0755));
    BOOST_TEST(size_of(hosts.b("directory/file")) == -1);
    append(hosts.a("directory/file"), "1");
    BOOST_TEST(size_of(hosts.b("directory/file")) == -1);
    BOOST_TEST((must(list_directory(hosts.b("directory"))) == std::vector<std::string>{"file"}));
    BOOST_TEST(size_of(hosts.b("directory/file")) == 1);
}

BOOST_AUTO_TEST_CASE(a_host_shows_new_attributes_and_names_after_the_time_of_its_cache) {
    TwoHosts const hosts(1);
    if (!hosts.are_up()) return;
    append(hosts.a("file"), "1");
    BOOST_TEST(size_of(hosts.b("file")) == 1);
    BOOST_TEST(size_of(hosts.b("absent")) == -1);
    append(hosts.a("file"), "23");
    append(hosts.a("absent"), "1");
    BOOST_TEST(
        becomes_true([&] { return size_of(hosts.b("file")) == 3 && size_of(hosts.b("absent")) == 1; }));
}

BOOST_AUTO_TEST_CASE(a_host_opens_the_file_that_another_host_has_put_in_the_place_of_an_old_one) {
    TwoHosts const hosts;
    if (!hosts.are_up()) return;
    append(hosts.a("file"), "old");
    BOOST_TEST(text_of(hosts.b("file")) == "old");
    append(hosts.a("new"), "newer");
    BOOST_REQUIRE(::rename(hosts.a("new").c_str(), hosts.a("file").c_str()) == 0);
    BOOST_TEST(size_of(hosts.b("file")) == 3);
    BOOST_TEST(text_of(hosts.b("file")) == "newer");
}

BOOST_AUTO_TEST_CASE(a_power_cut_drops_what_is_not_synced_and_keeps_what_is_synced_or_closed) {
    TwoHosts hosts;
    if (!hosts.are_up()) return;
    append(hosts.a("closed"), "closed");
    UniqueFd const file(::open(hosts.a("file").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    must(write_all(file.get(), "synced", "file"));
    BOOST_REQUIRE(::fsync(file.get()) == 0);
    must(write_all(file.get(), "unsynced", "file"));
    UniqueFd const other(::open(hosts.a("other").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
    must(write_all(other.get(), "unsynced", "other"));
    // The host itself sees all, and no other host does.
    char bytes[32] = {};
    BOOST_TEST(::pread(file.get(), bytes, sizeof bytes, 0) == 14);
    BOOST_TEST(std::string(bytes) == "syncedunsynced");
    BOOST_TEST(text_of(hosts.b("file")) == "synced");
    BOOST_TEST(must(hosts.host_a().cut_power()) == 16u);
    hosts.end_a();
    BOOST_TEST(text_of(hosts.server("closed")) == "closed");
    BOOST_TEST(text_of(hosts.server("file")) == "synced");
    BOOST_TEST(text_of(hosts.server("other")).empty());
}

BOOST_AUTO_TEST_CASE(an_operation_whose_reply_is_lost_is_repeated) {
    TwoHosts const hosts;
    if (!hosts.are_up()) return;
    for (auto const* name : {"file", "from", "removed"}) append(hosts.a(name), name);
    BOOST_TEST(must(hosts.host_a().lose_replies("repeat", 100, 1)) == 0u);
    BOOST_TEST(error_of(::mkdir(hosts.a("directory").c_str(), 0755)) == EEXIST);
    BOOST_TEST(error_of(::link(hosts.a("file").c_str(), hosts.a("link").c_str())) == EEXIST);
    BOOST_TEST(error_of(::rename(hosts.a("from").c_str(), hosts.a("to").c_str())) == ENOENT);
    BOOST_TEST(error_of(::unlink(hosts.a("removed").c_str())) == ENOENT);
    append(hosts.a("created"), "created");
    BOOST_TEST(must(hosts.host_a().lose_replies("nothing", 0, 1)) == 4u);
    BOOST_TEST((must(list_directory(hosts.server(""))) ==
                std::vector<std::string>{"created", "directory", "file", "link", "to"}));
    struct stat info {};
    BOOST_TEST(error_of(::stat(hosts.a("file").c_str(), &info)) == 0);
    BOOST_TEST(info.st_nlink == 2u);
    BOOST_TEST(error_of(::mkdir(hosts.a("second").c_str(), 0755)) == 0);
}

BOOST_AUTO_TEST_CASE(an_operation_whose_reply_is_lost_may_fail_although_it_is_carried_out) {
    TwoHosts const hosts;
    if (!hosts.are_up()) return;
    append(hosts.a("from"), "from");
    must(hosts.host_a().lose_replies("error", 100, 1));
    BOOST_TEST(error_of(::mkdir(hosts.a("directory").c_str(), 0755)) != 0);
    BOOST_TEST(error_of(::rename(hosts.a("from").c_str(), hosts.a("to").c_str())) != 0);
    must(hosts.host_a().lose_replies("nothing", 0, 1));
    BOOST_TEST((must(list_directory(hosts.a(""))) == std::vector<std::string>{"directory", "to"}));
}

BOOST_AUTO_TEST_CASE(a_file_that_another_host_removes_is_stale_and_one_that_its_own_host_removes_is_not) {
    TwoHosts const hosts;
    if (!hosts.are_up()) return;
    append(hosts.a("other"), "text");
    append(hosts.a("own"), "text");
    UniqueFd const other(::open(hosts.a("other").c_str(), O_RDONLY | O_CLOEXEC));
    UniqueFd own(::open(hosts.a("own").c_str(), O_RDONLY | O_CLOEXEC));
    BOOST_REQUIRE(::unlink(hosts.b("other").c_str()) == 0);
    BOOST_REQUIRE(::unlink(hosts.a("own").c_str()) == 0);
    char bytes[8] = {};
    BOOST_TEST(::pread(other.get(), bytes, sizeof bytes, 0) == -1);
    BOOST_TEST(errno == ESTALE);
    BOOST_TEST(::pread(own.get(), bytes, sizeof bytes, 0) == 4);
    auto const names = must(list_directory(hosts.server("")));
    BOOST_TEST_REQUIRE(names.size() == 1u);
    BOOST_TEST(names[0].starts_with(".nfs"));
    own.reset();
    // The kernel tells of the end of a file after close(2) has returned.
    BOOST_TEST(becomes_true([&] { return must(list_directory(hosts.server(""))).empty(); }));
}

BOOST_AUTO_TEST_CASE(a_lock_holds_for_both_hosts) {
    TwoHosts hosts;
    if (!hosts.are_up()) return;
    append(hosts.a("file"), "1");
    UniqueFd on_a(::open(hosts.a("file").c_str(), O_RDWR | O_CLOEXEC));
    UniqueFd const on_b(::open(hosts.b("file").c_str(), O_RDWR | O_CLOEXEC));
    BOOST_TEST(::flock(on_a.get(), LOCK_EX) == 0);
    BOOST_TEST(error_of(::flock(on_b.get(), LOCK_EX | LOCK_NB)) == EWOULDBLOCK);
    std::atomic<pid_t> thread = 0;
    std::promise<int> locking;
    auto locked = locking.get_future();
    std::jthread const waiting([&] {
        thread = ::gettid();
        locking.set_value(error_of(::flock(on_b.get(), LOCK_EX)));
    });
    BOOST_TEST(becomes_true([&] { return thread != 0 && is_blocked(thread); }));
    BOOST_TEST((locked.wait_for(0s) == std::future_status::timeout));
    BOOST_TEST(::flock(on_a.get(), LOCK_UN) == 0);
    bool const has_ended = locked.wait_for(limit) == std::future_status::ready;
    BOOST_TEST(has_ended);
    if (!has_ended) hosts.end_b();  // flock(2) fails then, and the thread can be joined
    BOOST_TEST(locked.get() == 0);
    BOOST_TEST(error_of(::flock(on_a.get(), LOCK_EX | LOCK_NB)) == EWOULDBLOCK);
}

BOOST_AUTO_TEST_CASE(a_link_and_a_rename_that_a_soft_mount_gives_up_are_seen_to_have_their_effect) {
    TwoHosts const hosts;
    if (!hosts.are_up()) return;
    for (auto const* name : {"file", "from", "third"}) append(hosts.a(name), name);
    BOOST_TEST(size_of(hosts.a("link")) == -1);
    BOOST_TEST(size_of(hosts.a("to")) == -1);
    must(hosts.host_a().lose_replies("error", 100, 1));
    BOOST_TEST(must(link_new_file(hosts.a("file"), hosts.a("link"))));
    BOOST_TEST(rename_own(hosts.a("from"), hosts.a("to")) == 0);
    BOOST_TEST(rename_own(hosts.a("third"), hosts.a("no/such")) == -1);
    must(make_own_directory(hosts.a("directory")));
    must(hosts.host_a().lose_replies("nothing", 0, 1));
    BOOST_TEST((must(list_directory(hosts.server(""))) ==
                std::vector<std::string>{"directory", "file", "link", "third", "to"}));
}

}  // namespace nfs_client_test
