// Snapshots that jobs have left in the memory of a node.
#include <det/foundation/files.hpp>
#include <det/launch/supervisor/memory_cleanup.hpp>

#include <boost/test/unit_test.hpp>

#include "check_result.hpp"
#include "fake_slurm.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace det::launch::supervisor;
using checkpoint::MemoryPlace;

namespace memory_cleanup_test {

struct Fixture {
    TemporaryDirectory shm;
    FakeSlurm slurm;

    std::filesystem::path make(std::string const& job, std::string const& trial) const {
        auto path = must(checkpoint::make_memory_directory({shm.path(), job, trial, ""}));
        must(write_file(path / "0.10.0of1", "a snapshot"));
        return path;
    }
    void set_job(std::uint32_t number, slurm::JobState state) {
        slurm::JobStatus status;
        status.ref = {number};
        status.state = state;
        slurm.job = status;
    }
};

}  // namespace memory_cleanup_test

BOOST_FIXTURE_TEST_SUITE(memory_cleanup_test, Fixture)

BOOST_AUTO_TEST_CASE(only_the_snapshots_of_the_trial_in_this_job_are_removed) {
    auto const own = make("100", "7.3");
    auto const other_trial = make("100", "7.30");
    auto const other_job = make("1000", "7.3");
    must(remove_memory_snapshots({shm.path(), "100", "7.3", ""}));
    BOOST_TEST(!path_exists(own));
    BOOST_TEST(path_exists(other_trial));
    BOOST_TEST(path_exists(other_job));
    must(remove_memory_snapshots({shm.path(), "100", "7.3", ""}));  // there are none
    auto const restarted = must(checkpoint::make_memory_directory({shm.path(), "100", "7.3", "", "2"}));
    must(remove_memory_snapshots({shm.path(), "100", "7.3", ""}));
    BOOST_TEST(!path_exists(restarted));
}

BOOST_AUTO_TEST_CASE(the_next_job_removes_the_snapshots_of_a_job_that_has_ended) {
    auto const own = make("100", "7.3");
    remove_leftover_snapshots(shm.path(), "100", slurm);
    BOOST_TEST(slurm.calls.empty());  // Slurm is asked only about other jobs
    auto const other = make("90", "7.3");
    set_job(90, slurm::JobState::running);
    remove_leftover_snapshots(shm.path(), "100", slurm);
    BOOST_TEST(path_exists(other));
    slurm.is_down = true;
    remove_leftover_snapshots(shm.path(), "100", slurm);
    BOOST_TEST(path_exists(other));
    slurm.is_down = false;
    set_job(90, slurm::JobState::canceled);
    remove_leftover_snapshots(shm.path(), "100", slurm);
    BOOST_TEST(!path_exists(other));
    auto const forgotten = make("80", "7.3");
    slurm.job.reset();
    remove_leftover_snapshots(shm.path(), "100", slurm);
    BOOST_TEST(!path_exists(forgotten));
    BOOST_TEST(path_exists(own));
}

BOOST_AUTO_TEST_SUITE_END()
