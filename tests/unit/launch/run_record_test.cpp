// The directory of a run on a file system whose server carries out a request twice.
#include "run_record.hpp"

#include <det/foundation/files.hpp>
#include <det/foundation/shared_directory.hpp>

#include <boost/test/unit_test.hpp>
#include <sys/stat.h>

#include "check_result.hpp"
#include "repeated_calls.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace det::launch::supervisor;

namespace run_record_test {

struct Fixture {
    TemporaryDirectory root;
    BatchJob job{ExperimentLayout(root.path()), {}, 0, {123, 0}, {0, "n0"}, "n0", 8, 0, "c", "compute"};
    TrialLayout trial = job.experiment.trial(0);

    std::uint32_t create_next() const {
        return must(RunRecord::create_next(job, {ExperimentId{1}, 0})).number;
    }
};

}  // namespace run_record_test

BOOST_FIXTURE_TEST_SUITE(run_record_test, Fixture)

BOOST_AUTO_TEST_CASE(each_run_has_a_directory_of_its_own_with_its_secret) {
    BOOST_TEST(create_next() == 0u);
    BOOST_TEST(create_next() == 1u);
    BOOST_TEST(must(list_directory(trial.runs())) == (std::vector<std::string>{"0", "1"}),
               boost::test_tools::per_element());
    BOOST_TEST(must(read_file(trial.run(0).rendezvous())) != must(read_file(trial.run(1).rendezvous())));
}

BOOST_AUTO_TEST_CASE(a_run_whose_directory_an_nfs_server_has_made_twice_is_its_own) {
    must(make_directories(trial.runs()));
    RepeatedCalls const repeated;
    BOOST_TEST(create_next() == 0u);
    BOOST_TEST(create_next() == 1u);
    BOOST_TEST(must(list_directory(trial.runs())) == (std::vector<std::string>{"0", "1"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_run_whose_directory_an_nfs_server_has_made_twice_is_shared_as_its_trial_is) {
    must(make_directories(trial.runs()));
    BOOST_REQUIRE(::chmod(trial.runs().c_str(), 02750) == 0);
    RepeatedCalls const repeated;
    struct stat info {};
    BOOST_REQUIRE(::stat(trial.run(create_next()).path().c_str(), &info) == 0);
    BOOST_TEST((info.st_mode & 07777) == 02750u);
    BOOST_TEST(shares_new_files(trial.run(0).path()));
}

BOOST_AUTO_TEST_CASE(a_run_that_another_process_begins_meanwhile_supersedes_this_one) {
    BOOST_TEST(create_next() == 0u);
    {
        BeforeRenameTo const rival(trial.run(1).path(), [&] { BOOST_TEST(create_next() == 1u); });
        BOOST_TEST((must_fail(RunRecord::create_next(job, {ExperimentId{1}, 0})).code == codes::superseded));
    }
    BOOST_TEST(must(list_directory(trial.runs())) == (std::vector<std::string>{"0", "1"}),
               boost::test_tools::per_element());
    BOOST_TEST(create_next() == 2u);
}

BOOST_AUTO_TEST_CASE(an_empty_directory_of_a_killed_process_becomes_that_of_the_run) {
    BeforeRenameTo const other(trial.run(0).path(), [&] { must(make_directory(trial.run(0).path())); });
    BOOST_TEST(create_next() == 0u);
    BOOST_TEST(path_exists(trial.run(0).rendezvous()));
    BOOST_TEST(must(list_directory(trial.runs())).size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_directory_that_cannot_get_its_name_is_removed) {
    BeforeRenameTo const other(trial.run(0).path(), [&] { must(write_file(trial.run(0).path(), "a file")); });
    BOOST_TEST((must_fail(RunRecord::create_next(job, {ExperimentId{1}, 0})).code != codes::superseded));
    BOOST_TEST(must(list_directory(trial.runs())) == (std::vector<std::string>{"0"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(directories_of_killed_supervisors_are_removed_a_day_later) {
    auto const old = trial.runs() / ".new-0123456789abcdef", young = trial.runs() / ".new-fedcba9876543210";
    for (auto const& [path, hours] : {std::pair{old, 25}, std::pair{young, 23}}) {
        must(make_directories(path));
        must(write_file(path / "rendezvous", "secret"));
        std::filesystem::last_write_time(
            path, std::filesystem::file_time_type::clock::now() - std::chrono::hours(hours));
    }
    BOOST_TEST(create_next() == 0u);
    BOOST_TEST(
        must(list_directory(trial.runs())) == (std::vector<std::string>{young.filename().string(), "0"}),
        boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
