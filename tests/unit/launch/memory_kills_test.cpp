#include "memory_kills.hpp"

#include <det/foundation/files.hpp>

#include <boost/test/unit_test.hpp>

#include "check_result.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace det::launch::wrap_rank;

namespace memory_kills_test {

/// A recorded copy of the files of a machine.
struct Machine {
    TemporaryDirectory root;

    void write(std::string const& file, std::string const& text) const {
        auto const path = root / file;
        must(make_directories(path.parent_path()));
        must(write_file(path, text));
    }
    std::uint64_t count() const { return count_memory_kills(root.path()); }
};

}  // namespace memory_kills_test

using namespace memory_kills_test;

BOOST_AUTO_TEST_SUITE(memory_kills_test)

BOOST_FIXTURE_TEST_CASE(kills_of_cgroup_v2_are_counted_by_the_next_group_that_accounts_memory, Machine) {
    write("proc/self/cgroup", "0::/system.slice/slurmstepd.scope/job_7/step_0/user/task_0\n");
    BOOST_TEST(count() == 0u);
    write("sys/fs/cgroup/system.slice/slurmstepd.scope/job_7/step_0/memory.events",
          "low 0\noom 3\noom_kill 2\n");
    BOOST_TEST(count() == 2u);
    write("sys/fs/cgroup/system.slice/slurmstepd.scope/job_7/step_0/user/task_0/memory.events",
          "oom_kill 1\n");
    BOOST_TEST(count() == 1u);
}

BOOST_FIXTURE_TEST_CASE(kills_of_cgroup_v1_are_counted_by_the_memory_controller, Machine) {
    write("proc/self/cgroup", "9:cpuset:/slurm/job_7\n4:memory:/slurm/uid_1/job_7/step_0/task_0\n0::/\n");
    write("sys/fs/cgroup/memory/slurm/uid_1/job_7/step_0/task_0/memory.oom_control",
          "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n");
    BOOST_TEST(count() == 4u);
}

BOOST_FIXTURE_TEST_CASE(kills_of_other_jobs_do_not_count, Machine) {
    write("proc/self/cgroup", "0::/system.slice/slurmstepd.scope/job_7/step_0/user/task_0\n");
    write("sys/fs/cgroup/system.slice/slurmstepd.scope/memory.events", "oom_kill 5\n");
    BOOST_TEST(count() == 0u);
    write("sys/fs/cgroup/system.slice/slurmstepd.scope/job_7/memory.events", "oom_kill 1\n");
    BOOST_TEST(count() == 1u);
}

BOOST_FIXTURE_TEST_CASE(a_machine_that_shows_no_kills_has_none, Machine) {
    BOOST_TEST(count() == 0u);
    write("proc/self/cgroup", "not a line\n0::relative\n");
    BOOST_TEST(count() == 0u);
    write("proc/self/cgroup", "0::/\n");
    write("sys/fs/cgroup/memory.events", "oom_kill many\n");
    BOOST_TEST(count() == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
