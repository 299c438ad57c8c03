#include <det/journal/reader.hpp>
#include <det/protocol/json.hpp>
#include <det/telemetry/reporter.hpp>

#include <array>
#include <boost/test/unit_test.hpp>
#include <latch>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "check_result.hpp"
#include "file_size_limit.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace det::telemetry;

namespace reporter_test {

constexpr std::array<Metric, 2> metrics{{{"loss", 0.5}, {"epoch", 3, MetricType::integer}}};

struct Fixture {
    TemporaryDirectory directory;
    std::filesystem::path path = directory / "journal";
    SystemClock clock;
    std::vector<std::string> warnings;

    Reporter make(ReporterOptions options) {
        return Reporter(must(journal::JournalWriter::create(path)), clock, std::move(options));
    }
    ReporterOptions options() {
        ReporterOptions all;
        all.warn = [this](std::string const& warning) { warnings.push_back(warning); };
        return all;
    }
    /// Options with which the thread writes nothing by itself during a test.
    ReporterOptions without_period() {
        auto all = options();
        all.write_period = std::chrono::hours(1);
        return all;
    }
    std::vector<Record> records() const { return must(journal::load_journal(path)).records; }
};

std::uint64_t count_dropped(std::vector<Record> const& records) {
    std::uint64_t dropped = 0;
    for (auto const& record : records) {
        if (auto const* found = std::get_if<ReportsDropped>(&record)) dropped += found->count;
    }
    return dropped;
}

}  // namespace reporter_test

BOOST_FIXTURE_TEST_SUITE(reporter_test, Fixture)

BOOST_AUTO_TEST_CASE(a_thread_writes_the_reports) {
    auto reporter = make(options());
    reporter.report(UtcTime{1}, "training", 10, metrics);
    auto const deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (records().empty() && std::chrono::steady_clock::now() < deadline) ::usleep(1000);
    BOOST_REQUIRE(records().size() == 1u);
    auto const report = std::get<MetricsReported>(records()[0]);
    BOOST_TEST((report.metrics == Json{{"loss", 0.5}, {"epoch", 3}}));
    BOOST_TEST(report.steps_completed == 10u);
    BOOST_TEST(report.time.microseconds == 1);
}

BOOST_AUTO_TEST_CASE(several_threads_may_close_a_reporter) {
    for (int round = 0; round < 50; ++round) {
        auto reporter = make(options());
        reporter.report(UtcTime{1}, "training", 10, metrics);
        std::latch all(4);
        std::vector<std::jthread> threads;
        for (int i = 0; i < 4; ++i) {
            threads.emplace_back([&] {
                all.arrive_and_wait();
                must(reporter.close());
            });
        }
        threads.clear();
        BOOST_TEST(records().size() == 1u);
        must(remove_tree(path));
    }
}

BOOST_AUTO_TEST_CASE(a_record_is_written_after_the_reports_before_it) {
    auto reporter = make(without_period());
    reporter.report(UtcTime{1}, "training", 10, metrics);
    reporter.report(encode_record(StatusSet{UtcTime{2}, "saving"}));
    reporter.report(UtcTime{3}, "training", 11, metrics);
    BOOST_TEST(records().empty());
    must(reporter.append(FirstStep{UtcTime{4}}, Durability::power_loss));
    auto const written = records();
    BOOST_REQUIRE(written.size() == 4u);
    BOOST_TEST(std::get<MetricsReported>(written[0]).steps_completed == 10u);
    BOOST_TEST(std::get<StatusSet>(written[1]).status == "saving");
    BOOST_TEST(std::get<MetricsReported>(written[2]).steps_completed == 11u);
    BOOST_TEST(std::holds_alternative<FirstStep>(written[3]));
}

BOOST_AUTO_TEST_CASE(the_destructor_writes_the_rest) {
    { make(without_period()).report(UtcTime{1}, "training", 10, metrics); }
    BOOST_TEST(records().size() == 1u);
}

BOOST_AUTO_TEST_CASE(reports_that_find_no_room_are_counted) {
    auto all = without_period();
    all.capacity_bytes = 4096;
    auto reporter = make(std::move(all));
    constexpr std::uint64_t reports = 100;
    for (std::uint64_t step = 0; step < reports; ++step)
        reporter.report(UtcTime{1}, "training", step, metrics);
    must(reporter.close());
    auto const written = records();
    auto const dropped = count_dropped(written);
    BOOST_TEST(dropped > 0u);
    BOOST_TEST(dropped + written.size() - 1 == reports);
    BOOST_TEST(warnings.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_large_report_is_written_whole) {
    auto all = without_period();
    all.capacity_bytes = 4096;
    auto reporter = make(std::move(all));
    reporter.report(UtcTime{1}, "training", 1, metrics);
    std::vector<Metric> const many(1000, Metric{"value", 1});
    reporter.report(UtcTime{1}, "training", 2, many);
    reporter.report(encode_record(StatusSet{UtcTime{2}, std::string(5000, 'x')}));
    auto const written = records();
    BOOST_REQUIRE(written.size() == 3u);
    BOOST_TEST(std::get<MetricsReported>(written[1]).steps_completed == 2u);
    BOOST_TEST(std::get<StatusSet>(written[2]).status.size() == 5000u);
}

BOOST_AUTO_TEST_CASE(reports_wait_until_the_file_can_be_written_again) {
    auto reporter = make(without_period());
    reporter.report(UtcTime{1}, "training", 1, metrics);
    must(reporter.flush());
    {
        FileSizeLimit const limit(std::filesystem::file_size(path));
        reporter.report(UtcTime{1}, "training", 2, metrics);
        BOOST_TEST(!reporter.flush().has_value());
        BOOST_TEST(!reporter.append(FirstStep{UtcTime{2}}).has_value());
        BOOST_TEST(warnings.size() == 1u);
    }
    reporter.report(UtcTime{1}, "training", 3, metrics);
    must(reporter.close());
    auto const written = records();
    BOOST_REQUIRE(written.size() == 3u);
    BOOST_TEST(std::get<MetricsReported>(written[1]).steps_completed == 2u);
    BOOST_TEST(std::get<MetricsReported>(written[2]).steps_completed == 3u);
}

BOOST_AUTO_TEST_CASE(large_reports_that_cannot_be_written_do_not_fill_the_memory) {
    auto all = without_period();
    all.capacity_bytes = 4096;
    auto reporter = make(std::move(all));
    auto const large = encode_record(StatusSet{UtcTime{2}, std::string(3000, 'x')});
    {
        FileSizeLimit const limit(std::filesystem::file_size(path));
        for (int i = 0; i < 5; ++i) reporter.report(large);
    }
    must(reporter.close());
    auto const written = records();
    // Two reports, which together exceed the capacity, and the count of the dropped ones.
    BOOST_TEST(written.size() == 3u);
    BOOST_TEST(count_dropped(written) == 3u);
}

BOOST_AUTO_TEST_CASE(a_forked_child_ends_without_the_thread) {
    auto reporter = make(options());
    reporter.report(UtcTime{1}, "training", 1, metrics);
    auto const child = ::fork();
    if (child == 0) {
        ::alarm(20);
        {
            auto const inherited = &reporter;
            inherited->report(UtcTime{1}, "training", 2, metrics);
            inherited->report(
                EncodedRecord{RecordType::metrics, std::string(options().capacity_bytes / 2, 'x')});
            (void)inherited->close();
        }
        ::_exit(0);
    }
    int status = -1;
    BOOST_TEST(::waitpid(child, &status, 0) == child);
    BOOST_TEST(status == 0);
    must(reporter.close());
    BOOST_TEST(records().size() == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
