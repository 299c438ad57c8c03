#include "hang_detector.hpp"

#include <det/foundation/files.hpp>

#include <boost/test/unit_test.hpp>

#include "check_result.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace det::launch::supervisor;
using namespace std::chrono_literals;

namespace hang_detector_test {

HangDetector::Time const start{};
ReportedProgress const nothing{};

/// Checks at each time that is due, with the same progress. Returns the time of the first hang until `end`.
std::optional<std::chrono::seconds> find_hang(HangDetector& detector, ReportedProgress const& progress,
                                              std::chrono::seconds end) {
    while (*detector.next_check() <= start + end) {
        auto const now = *detector.next_check();
        if (detector.check(progress, now)) return std::chrono::floor<std::chrono::seconds>(now - start);
    }
    return std::nullopt;
}

}  // namespace hang_detector_test

BOOST_AUTO_TEST_SUITE(hang_detector_test)

BOOST_AUTO_TEST_CASE(a_run_without_a_timeout_never_hangs) {
    HangDetector detector(std::nullopt, start);
    BOOST_TEST(!detector.next_check());
    BOOST_TEST(!detector.check(nothing, start + 1h));
}

BOOST_AUTO_TEST_CASE(a_run_that_never_reports_hangs_when_the_timeout_has_passed_and_not_before) {
    HangDetector early(100s, start), late(100s, start);
    for (auto time = 10s; time <= 90s; time += 10s) {
        BOOST_TEST(!early.check(nothing, start + time));
        BOOST_TEST(!late.check(nothing, start + time));
    }
    BOOST_TEST(!early.check(nothing, start + 100s - 1ms));
    BOOST_TEST(late.check(nothing, start + 100s));
}

BOOST_AUTO_TEST_CASE(any_change_of_the_progress_begins_the_time_anew) {
    for (ReportedProgress const& changed :
         {ReportedProgress{1, {}}, ReportedProgress{0, UtcTime{5}}, ReportedProgress{1, UtcTime{5}},
          ReportedProgress{0, {}, {"", "7"}}}) {
        HangDetector detector(100s, start);
        BOOST_TEST(!find_hang(detector, nothing, 90s).has_value());
        BOOST_TEST((find_hang(detector, changed, 1000s) == 200s));
    }
}

BOOST_AUTO_TEST_CASE(a_run_whose_supervisor_was_stopped_does_not_hang) {
    // Up to one interval late, the check counts; beyond it, the job was suspended.
    HangDetector in_time(100s, start), suspended(100s, start);
    BOOST_TEST(!find_hang(in_time, nothing, 90s).has_value());
    BOOST_TEST(!find_hang(suspended, nothing, 90s).has_value());
    BOOST_TEST(in_time.check(nothing, start + 110s));
    BOOST_TEST(!suspended.check(nothing, start + 110s + 1ms));
    BOOST_TEST((find_hang(suspended, nothing, 1000s) == 210s));
}

BOOST_AUTO_TEST_CASE(a_short_timeout_is_checked_once_a_second) {
    HangDetector detector(2s, start);
    BOOST_TEST((detector.next_check() == start + 1s));
}

BOOST_AUTO_TEST_CASE(the_progress_is_the_size_of_the_journal_the_change_of_files_and_the_nodes_activity) {
    TemporaryDirectory directory;
    TrialLayout const trial(directory.path());
    auto const run = trial.run(0);
    must(make_directories(run.path()));
    std::vector<std::optional<std::string>> const by_files(2);
    auto const before = read_progress(trial, run, by_files, {"*.pt"});
    BOOST_TEST((before == ReportedProgress{0, {}, {"", ""}}));
    must(write_file(run.chief_journal(), "report"));
    auto const reported = read_progress(trial, run, by_files, {"*.pt"});
    BOOST_TEST(reported.journal_bytes == 6u);
    must(write_file(directory / "1.pt", ""));
    BOOST_TEST((read_progress(trial, run, by_files, {}) == reported));
    BOOST_TEST(read_progress(trial, run, by_files, {"*.pt"}).files.has_value());
    must(write_file(run.heartbeat(1), "00000000000000000007\n"));
    auto const active = read_progress(trial, run, by_files, {});
    BOOST_TEST((active != reported));
    BOOST_TEST(active.activity.at(1) == "00000000000000000007\n");
    // A node that is connected says it, and its file is not read.
    auto const connected = read_progress(trial, run, {std::nullopt, "8"}, {});
    BOOST_TEST(connected.activity.at(0).empty());
    BOOST_TEST(connected.activity.at(1) == "8");
}

BOOST_AUTO_TEST_SUITE_END()
