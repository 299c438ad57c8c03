// Which output files of jobs repeat the logs of their runs.
#include <det/journal/writer.hpp>
#include <det/launch/supervisor/job_output.hpp>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <unistd.h>

#include "check_result.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace det::launch::supervisor;

BOOST_AUTO_TEST_SUITE(job_output_test)

namespace {

constexpr ExperimentId experiment{7};

std::string own(std::string const& text) { return "2026-11-29T17:50:30.603524Z det-launch: " + text + "\n"; }
std::string in_log(std::string const& text) { return "2026-11-29T17:50:30.700000Z " + text + "\n"; }

/// Whether the output may be removed if its runs have these logs.
bool has_only_known_lines(std::string_view output, ExperimentId of,
                          std::vector<std::string> const& node_logs) {
    auto lines = find_other_lines(output, of);
    if (!lines) return false;
    for (auto const& log : node_logs) {
        if (!remove_lines_of_log(*lines, log)) return false;
    }
    return lines->empty();
}

std::string const begin = own("run 7.1.0 begins on n0 at step 0");
std::string const good_end = own("run 7.1.0 ended: the trainer finished (finished, stop)");

}  // namespace

BOOST_AUTO_TEST_CASE(an_output_of_good_ends_and_of_lines_in_the_logs_is_known) {
    auto const output =
        begin + "srun: cluster configuration lacks support for cpu binding\nepoch 1\n\n[rank=1] x\ny\n" +
        own("run 7.3.2 begins on n0 at step 0") + own("run 7.3.2 has its files: 1.0 MiB on n0 after 200 ms") +
        good_end + own("run 7.3.2 is asked to stop (search)") +
        own("run 7.3.2 ended: the search has ended it (stopped-by-search, stop)") +
        own("nothing is left to run here");
    std::vector<std::string> const logs{in_log("epoch 1") + in_log(""),
                                        in_log("[rank=1] x") + in_log("[rank=0] y")};
    BOOST_TEST(has_only_known_lines(output, experiment, logs));
    BOOST_TEST((find_runs(output, experiment) == std::vector<RunInOutput>{{1, 0}, {3, 2}}));
    BOOST_TEST(!has_only_known_lines(output, ExperimentId{8}, logs));
}

BOOST_AUTO_TEST_CASE(what_is_only_in_the_output_keeps_it) {
    for (auto const& line :
         {std::string("srun: error: n1: task 1: Killed\n"), std::string("slurmstepd: error: oom\n"),
          std::string("epoch 2\n"), own("cannot ask Slurm about job 5: timeout"),
          own("run 7.1.0 may see the request late: broken pipe"), own("run 7.1.0 is asked to stop (user)"),
          std::string("\n")}) {
        BOOST_TEST(!has_only_known_lines(begin + line + good_end, experiment, {in_log("epoch 1")}), line);
    }
}

BOOST_AUTO_TEST_CASE(a_run_without_a_good_end_keeps_the_output) {
    BOOST_TEST(has_only_known_lines(begin + good_end, experiment, {}));
    BOOST_TEST(!has_only_known_lines(begin, experiment, {}));
    BOOST_TEST(
        !has_only_known_lines(begin + own("run 7.1.0 ended: exit code 1 (failed, stop)"), experiment, {}));
    BOOST_TEST(!has_only_known_lines(begin + own("run 7.1.0 ended: preempted (preempted, requeue)"),
                                     experiment, {}));
    BOOST_TEST(!has_only_known_lines(begin + begin + own("run 7.1.1 begins on n0 at step 3") + good_end,
                                     experiment, {}));
    // A line of another experiment, and numbers that are none.
    for (auto const* run : {"8.1.0", "7.1", "7.1.0.0", "7.x.0", "7.1.99999999999"})
        BOOST_TEST(!has_only_known_lines(own(std::string("run ") + run + " begins on n0 at step 0"),
                                         experiment, {}));
    // The supervisor of an incarnation that was cut off reads the file of the next one.
    BOOST_TEST(!has_only_known_lines("", experiment, {}));
    BOOST_TEST(!has_only_known_lines(good_end, experiment, {}));
    BOOST_TEST(!has_only_known_lines(begin + good_end + good_end, experiment, {}));
}

BOOST_AUTO_TEST_CASE(a_log_with_missing_lines_keeps_the_output) {
    auto const output = begin + "epoch 1\nepoch 2\n" + good_end;
    auto const log = in_log("epoch 1") + in_log("epoch 2");
    BOOST_TEST(has_only_known_lines(output, experiment, {log}));
    BOOST_TEST(!has_only_known_lines(
        output, experiment, {log, in_log("[rank=1] det-wrap-rank: 3 lines are missing here") + in_log("x")}));
}

BOOST_AUTO_TEST_CASE(a_file_that_is_not_the_whole_output_of_this_incarnation_stays) {
    TemporaryDirectory const root;
    BatchJob batch_job{
        ExperimentLayout(RootLayout(root.path()), experiment), {}, 1, {123, 1}, {}, "n0", 1, 0, "", ""};
    batch_job.spec.id = experiment;
    batch_job.incarnation.restart_count = 1;
    auto const run = batch_job.experiment.trial(1).run(0);
    must(make_directories(run.path()));
    auto life = must(journal::JournalWriter::create(run.supervisor_journal()));
    RunStarted started;
    started.job = "123_1";
    started.restart_count = 1;
    must(life.append(started));
    must(write_file(run.path() / "node-0.log", in_log("epoch 1")));
    auto const path = batch_job.experiment.slurm_output("123_1");
    must(write_file(path, begin + "epoch 1\n" + good_end));
    UniqueFd const output(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
    auto const remove_as_job = [&] {
        UniqueFd const own(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0));
        ::fflush(stdout);
        BOOST_REQUIRE(::dup2(output.get(), STDOUT_FILENO) == STDOUT_FILENO);
        remove_repeated_output(batch_job);
        BOOST_REQUIRE(::dup2(own.get(), STDOUT_FILENO) == STDOUT_FILENO);
    };
    remove_repeated_output(batch_job);  // standard output is another file
    BOOST_TEST(path_exists(path));
    batch_job.incarnation.restart_count = 0;  // Slurm has requeued the job
    remove_as_job();
    BOOST_TEST(path_exists(path));
    batch_job.incarnation.restart_count = 1;
    must(write_file(run.path() / "node-1.log", std::string(std::size_t{3} << 20, 'x')));
    remove_as_job();
    BOOST_TEST(path_exists(path));
    must(remove_tree(run.path() / "node-1.log"));
    remove_as_job();
    BOOST_TEST(!path_exists(path));
}

BOOST_AUTO_TEST_SUITE_END()
