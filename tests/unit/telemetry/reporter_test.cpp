#include <det/journal/reader.hpp>
#include <det/protocol/json.hpp>
#include <det/telemetry/reporter.hpp>

#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>
#include <latch>
#include <optional>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "check_result.hpp"
#include "fake_clock.hpp"
#include "file_size_limit.hpp"
#include "stalled_writes.hpp"
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
    /// A record whose payload has this size.
    static EncodedRecord record_of(std::size_t size_bytes) {
        auto const rest = encode_record(StatusSet{UtcTime{2}, ""}).payload.size();
        return encode_record(StatusSet{UtcTime{2}, std::string(size_bytes - rest, 'x')});
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
    must(reporter.report(UtcTime{1}, "training", 10, metrics));
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
        must(reporter.report(UtcTime{1}, "training", 10, metrics));
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
    must(reporter.report(UtcTime{1}, "training", 10, metrics));
    must(reporter.report(encode_record(StatusSet{UtcTime{2}, "saving"})));
    must(reporter.report(UtcTime{3}, "training", 11, metrics));
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
    { must(make(without_period()).report(UtcTime{1}, "training", 10, metrics)); }
    BOOST_TEST(records().size() == 1u);
}

BOOST_AUTO_TEST_CASE(reports_that_find_no_room_are_counted) {
    auto all = without_period();
    all.capacity_bytes = 4096;
    auto reporter = make(std::move(all));
    constexpr std::uint64_t reports = 100;
    for (std::uint64_t step = 0; step < reports; ++step)
        must(reporter.report(UtcTime{1}, "training", step, metrics));
    must(reporter.close());
    auto const written = records();
    auto const dropped = count_dropped(written);
    BOOST_TEST(dropped > 0u);
    BOOST_TEST(dropped + written.size() - 1 == reports);
    BOOST_TEST(warnings.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_report_above_16_mib_is_refused_and_the_others_are_written) {
    constexpr std::size_t limit = std::size_t{16} << 20;
    auto reporter = make(options());
    must(reporter.report(record_of(limit - 1)));
    must(reporter.flush());
    must(reporter.report(record_of(limit)));
    must(reporter.flush());
    auto const refused = must_fail(reporter.report(record_of(limit + 1)));
    BOOST_TEST(refused.code.name == "report-too-large");
    BOOST_TEST(refused.message.find("16777217 bytes in the journal, and at most 16777216 (16 MiB)") !=
               std::string::npos);
    must(reporter.report(UtcTime{3}, "training", 3, metrics));
    BOOST_TEST((must_fail(reporter.append(StatusSet{UtcTime{2}, std::string(limit, 'x')})).code.name ==
                "report-too-large"));
    must(reporter.append(FirstStep{UtcTime{4}}));
    must(reporter.close());
    auto const written = records();
    BOOST_REQUIRE(written.size() == 4u);
    BOOST_TEST(std::get<StatusSet>(written[0]).status.size() ==
               std::get<StatusSet>(written[1]).status.size() - 1);
    BOOST_TEST(std::get<MetricsReported>(written[2]).steps_completed == 3u);
    BOOST_TEST(std::holds_alternative<FirstStep>(written[3]));
    BOOST_TEST(warnings.empty());
}

BOOST_AUTO_TEST_CASE(a_report_of_100_000_names_is_written_unless_the_names_take_too_much) {
    auto reporter = make(options());
    std::vector<std::string> names;
    std::vector<Metric> many;
    for (int i = 0; i < 100'000; ++i) names.push_back("name-" + std::to_string(i));
    for (auto const& name : names) many.push_back({name, 0.5});
    must(reporter.report(UtcTime{1}, "training", 1, many));
    for (auto& name : names) name += std::string(200, 'x');
    for (std::size_t i = 0; i < names.size(); ++i) many[i].name = names[i];
    auto const refused = must_fail(reporter.report(UtcTime{1}, "training", 2, many));
    BOOST_TEST(refused.code.name == "report-too-large");
    BOOST_TEST(refused.message.starts_with("a report of 100000 metrics with their names takes "));
    must(reporter.report(UtcTime{1}, "training", 3, metrics));
    must(reporter.close());
    auto const written = records();
    BOOST_REQUIRE(written.size() == 2u);
    BOOST_TEST(std::get<MetricsReported>(written[0]).metrics->size() == 100'000u);
    BOOST_TEST(std::get<MetricsReported>(written[1]).steps_completed == 3u);
}

BOOST_AUTO_TEST_CASE(reports_do_not_wait_for_a_write_that_does_not_return) {
    auto all = options();
    all.capacity_bytes = 4096;
    auto reporter = make(std::move(all));
    constexpr std::uint64_t reports = 1000;
    {
        StalledWrites const stalled(path);
        must(reporter.report(UtcTime{1}, "training", 0, metrics));
        stalled.wait_for_one();
        for (std::uint64_t step = 1; step < reports; ++step)
            must(reporter.report(UtcTime{1}, "training", step, metrics));
        must(reporter.report(record_of(3000)));  // larger than the queue accepts
        BOOST_TEST(stalled.is_waiting());
    }
    must(reporter.close());
    auto const written = records();
    std::vector<std::uint64_t> steps;
    for (auto const& record : written) {
        if (auto const* report = std::get_if<MetricsReported>(&record))
            steps.push_back(report->steps_completed);
    }
    BOOST_TEST(steps.front() == 0u);
    BOOST_TEST(steps.size() > 20u);
    BOOST_TEST(std::ranges::is_sorted(steps));
    BOOST_TEST(count_dropped(written) == reports - steps.size());
    BOOST_TEST(warnings.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_record_in_the_background_waits_for_no_write_and_is_never_dropped) {
    auto all = options();
    all.capacity_bytes = 4096;
    auto reporter = make(std::move(all));
    {
        StalledWrites const stalled(path);
        must(reporter.report(UtcTime{1}, "training", 1, metrics));
        stalled.wait_for_one();
        for (std::uint64_t step = 2; step < 1000; ++step)  // more than the queue has room for
            must(reporter.report(UtcTime{1}, "training", step, metrics));
        must(reporter.append_in_background(CheckpointBegun{UtcTime{2}, "uuid", 10}));
        must(reporter.append_in_background(FirstStep{UtcTime{3}}, Durability::power_loss));
        BOOST_TEST(stalled.is_waiting());
    }
    must(reporter.flush_once());
    auto written = records();
    std::erase_if(written, [](auto const& record) { return std::holds_alternative<ReportsDropped>(record); });
    BOOST_REQUIRE(written.size() > 2u);
    BOOST_TEST(std::get<CheckpointBegun>(written[written.size() - 2]).uuid == "uuid");
    BOOST_TEST(std::holds_alternative<FirstStep>(written.back()));
    must(reporter.close());
    BOOST_TEST(count_dropped(records()) > 0u);
}

BOOST_AUTO_TEST_CASE(a_record_in_the_background_waits_for_the_file_if_the_queue_is_full) {
    FakeClock fake;
    auto all = without_period();
    all.capacity_bytes = 4096;
    all.retry_timeout = std::chrono::seconds(300);
    auto reporter = Reporter(must(journal::JournalWriter::create(path)), fake, std::move(all));
    std::optional<FileSizeLimit> limit(std::filesystem::file_size(path));
    fake.on_sleep = [&](std::chrono::milliseconds elapsed) {
        if (elapsed >= std::chrono::seconds(200)) limit.reset();
    };
    auto const before = fake.steady_now();
    must(reporter.append_in_background(StatusSet{UtcTime{2}, std::string(4000, 'x')}));
    must(reporter.append_in_background(StatusSet{UtcTime{2}, std::string(4000, 'y')}));
    BOOST_TEST((fake.steady_now() == before));
    must(reporter.append_in_background(StatusSet{UtcTime{2}, "z"}));
    BOOST_TEST((fake.steady_now() - before >= std::chrono::seconds(200)));
    BOOST_TEST(records().size() == 3u);

    StatusSet const too_large{UtcTime{2}, std::string(std::size_t{16} << 20, 'x')};
    BOOST_TEST((must_fail(reporter.append_in_background(too_large)).code == codes::report_too_large));
}

BOOST_AUTO_TEST_CASE(a_record_is_written_when_the_disk_has_space_again) {
    FakeClock fake;
    auto all = without_period();
    all.retry_timeout = std::chrono::seconds(300);
    auto reporter = Reporter(must(journal::JournalWriter::create(path)), fake, std::move(all));
    std::optional<FileSizeLimit> limit(std::filesystem::file_size(path));
    fake.on_sleep = [&](std::chrono::milliseconds elapsed) {
        if (elapsed >= std::chrono::seconds(200)) limit.reset();
    };
    must(reporter.report(UtcTime{1}, "training", 1, metrics));
    must(reporter.append(FirstStep{UtcTime{2}}, Durability::power_loss));
    BOOST_TEST((fake.steady_now().time_since_epoch() >= std::chrono::seconds(200)));
    BOOST_TEST(records().size() == 2u);
    BOOST_TEST(warnings.size() == 1u);

    limit.emplace(std::filesystem::file_size(path));
    fake.on_sleep = nullptr;
    must(reporter.report(UtcTime{1}, "training", 2, metrics));
    auto const before = fake.steady_now();
    BOOST_TEST((must_fail(reporter.append(FirstStep{UtcTime{3}})).code == codes::file_system));
    BOOST_TEST((fake.steady_now() - before >= std::chrono::seconds(300)));
    BOOST_TEST((fake.steady_now() - before < std::chrono::seconds(302)));
    limit.reset();
    must(reporter.close());
    BOOST_TEST(records().size() == 3u);
}

BOOST_AUTO_TEST_CASE(a_large_report_is_written_whole) {
    auto all = without_period();
    all.capacity_bytes = 4096;
    auto reporter = make(std::move(all));
    must(reporter.report(UtcTime{1}, "training", 1, metrics));
    std::vector<Metric> const many(1000, Metric{"value", 1});
    must(reporter.report(UtcTime{1}, "training", 2, many));
    must(reporter.report(encode_record(StatusSet{UtcTime{2}, std::string(5000, 'x')})));
    must(reporter.flush());
    auto const written = records();
    BOOST_REQUIRE(written.size() == 3u);
    BOOST_TEST(std::get<MetricsReported>(written[1]).steps_completed == 2u);
    BOOST_TEST(std::get<StatusSet>(written[2]).status.size() == 5000u);
}

BOOST_AUTO_TEST_CASE(reports_wait_until_the_file_can_be_written_again) {
    auto reporter = make(without_period());
    must(reporter.report(UtcTime{1}, "training", 1, metrics));
    must(reporter.flush());
    {
        FileSizeLimit const limit(std::filesystem::file_size(path));
        must(reporter.report(UtcTime{1}, "training", 2, metrics));
        BOOST_TEST(!reporter.flush().has_value());
        BOOST_TEST(!reporter.append(FirstStep{UtcTime{2}}).has_value());
        BOOST_TEST(warnings.size() == 1u);
    }
    must(reporter.report(UtcTime{1}, "training", 3, metrics));
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
        for (int i = 0; i < 5; ++i) must(reporter.report(large));
    }
    must(reporter.close());
    auto const written = records();
    // Two reports, which together exceed the capacity, and the count of the dropped ones.
    BOOST_TEST(written.size() == 3u);
    BOOST_TEST(count_dropped(written) == 3u);
}

BOOST_AUTO_TEST_CASE(a_forked_child_ends_without_the_thread) {
    auto reporter = make(options());
    must(reporter.report(UtcTime{1}, "training", 1, metrics));
    auto const child = ::fork();
    if (child == 0) {
        ::alarm(20);
        {
            auto const inherited = &reporter;
            (void)inherited->report(UtcTime{1}, "training", 2, metrics);
            (void)inherited->report(
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
