// One process at a time has the lock of an experiment, also on a file system without flock.
#include <det/experiment_pack/pack_lock.hpp>

#include <array>
#include <cerrno>
#include <cstddef>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <thread>

#include "pack_support.hpp"

using namespace det;
using namespace det::experiment_pack;

namespace pack_lock_test {

/// Makes flock fail in the calling thread, as on a file system that does not support it.
bool forbid_flock() {
    std::array<sock_filter, 4> program{{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                                        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_flock, 0, 1),
                                        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
                                        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)}};
    sock_fprog const filter{static_cast<unsigned short>(program.size()), program.data()};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

void check_one_has_the_lock(fs::path const& directory) {
    auto const name = directory.parent_path() / ".pack-lock-7";
    {
        auto const lock = must(PackLock::take(directory, {}));
        BOOST_TEST(lock.directory() == directory);
        auto const second = PackLock::take(directory, {});
        BOOST_REQUIRE(!second);
        BOOST_TEST(second.error().code.name == codes::wrong_state.name);
    }
    BOOST_TEST(!path_exists(name));
    must(PackLock::take(directory, {}));
}

}  // namespace pack_lock_test

BOOST_AUTO_TEST_SUITE(pack_lock_test)

BOOST_AUTO_TEST_CASE(one_process_has_the_lock_and_a_killed_one_does_not_keep_it) {
    TemporaryDirectory const root;
    auto const directory = root / "7";
    must(make_directory(directory));
    check_one_has_the_lock(directory);
    must(write_file(root / ".pack-lock-7", ""));  // of a killed process
    must(write_file(directory / ".pack-file", ""));
    must(PackLock::take(directory, {}));
    BOOST_TEST(must(list_directory(directory)).empty());
}

BOOST_AUTO_TEST_CASE(without_flock_the_lock_file_of_a_killed_process_is_named) {
    TemporaryDirectory const root;
    auto const directory = root / "7";
    must(make_directory(directory));
    std::jthread([&] {
        BOOST_REQUIRE(forbid_flock());
        check_one_has_the_lock(directory);
        auto const left = (root / ".pack-lock-7").string();
        must(write_file(left, ""));
        must(write_file(directory / ".pack-file", ""));
        auto const refused = PackLock::take(directory, {});
        BOOST_REQUIRE(!refused);
        BOOST_TEST(refused.error().hint.find("remove '" + left + "'") != std::string::npos,
                   refused.error().hint);
        BOOST_TEST(path_exists(left));
        BOOST_TEST(path_exists(directory / ".pack-file"));  // it may be in use
    }).join();
}

BOOST_AUTO_TEST_SUITE_END()
