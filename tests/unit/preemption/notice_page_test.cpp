#include <det/foundation/files.hpp>
#include <det/preemption/notice_page.hpp>

#include <boost/test/unit_test.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include "check_result.hpp"
#include "fake_clock.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace det::preemption;

BOOST_AUTO_TEST_SUITE(notice_page_test)

BOOST_AUTO_TEST_CASE(a_notice_is_seen_by_every_process_that_shares_the_page) {
    TemporaryDirectory directory;
    must(NoticePage::create(directory / notice_file));
    auto const page = must(NoticePage::open(directory / notice_file));
    BOOST_TEST(!page.is_raised());
    BOOST_TEST(!page.raised_at().has_value());
    BOOST_TEST(!page.raised_at_steady().has_value());
    FakeClock clock;
    clock.sleep_for(std::chrono::seconds(42));
    auto const child = ::fork();
    if (child == 0) {
        auto mine = NoticePage::open(directory / notice_file);
        if (mine) mine->raise(clock, NoticePage::By::slurm);
        ::_exit(mine ? 0 : 1);
    }
    int status = -1;
    BOOST_REQUIRE(::waitpid(child, &status, 0) == child);
    BOOST_REQUIRE(status == 0);
    BOOST_TEST(page.is_raised());
    BOOST_TEST((*page.raised_at() == clock.now()));
    BOOST_TEST((page.raised_at_steady() == clock.steady_now()));
}

BOOST_AUTO_TEST_CASE(the_first_notice_counts_and_the_first_of_slurm) {
    TemporaryDirectory directory;
    must(NoticePage::create(directory / notice_file));
    auto page = must(NoticePage::open(directory / notice_file));
    FakeClock clock;
    page.raise(clock, NoticePage::By::supervisor);
    BOOST_TEST(!page.raised_by_slurm_at_steady().has_value());
    auto const first = clock.now();
    clock.sleep_for(std::chrono::seconds(1));
    auto const second = clock.steady_now();
    page.raise(clock, NoticePage::By::slurm);
    clock.sleep_for(std::chrono::seconds(1));
    page.raise(clock, NoticePage::By::slurm);
    BOOST_TEST((*page.raised_at() == first));
    BOOST_TEST((page.raised_by_slurm_at_steady() == second));
}

BOOST_AUTO_TEST_CASE(a_file_that_is_no_page_is_refused) {
    TemporaryDirectory directory;
    BOOST_TEST((must_fail(NoticePage::open(directory / "absent")).code == codes::no_such_file));
    must(write_file(directory / "short", "DETPAGE\n"));
    BOOST_TEST((must_fail(NoticePage::open(directory / "short")).code == codes::damaged));
    must(write_file(directory / "zeros", std::string(4096, '\0')));
    BOOST_TEST((must_fail(NoticePage::open(directory / "zeros")).code == codes::damaged));
}

BOOST_AUTO_TEST_SUITE_END()
