#include <det/foundation/bytes.hpp>
#include <det/foundation/files.hpp>
#include <det/journal/damage.hpp>
#include <det/journal/reader.hpp>
#include <det/journal/tail.hpp>
#include <det/journal/writer.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/metric_frames.hpp>

#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <chrono>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

#include "check_result.hpp"
#include "file_size_limit.hpp"
#include "golden.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace det::journal;

// Replaces libc's ftruncate() in this program.
static int truncate_error = 0;  // not 0: the errno with which each call fails
extern "C" int ftruncate(int fd, off_t size_bytes) noexcept {
    if (truncate_error == 0) return static_cast<int>(::syscall(SYS_ftruncate, fd, size_bytes));
    errno = truncate_error;
    return -1;
}

namespace journal_test {

Record metric(int step) {
    return MetricsReported{UtcTime{step}, "training", static_cast<std::uint64_t>(step),
                           Json{{"loss", 1.0 / step}}};
}

std::string journal_of(int records) {
    auto bytes = render_header();
    for (int step = 1; step <= records; ++step) {
        auto const encoded = encode_record(metric(step));
        bytes += render_frame(static_cast<std::uint16_t>(encoded.type), encoded.payload);
    }
    return bytes;
}

std::string to_hex(std::string_view bytes) {
    std::string out;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        constexpr char digits[] = "0123456789abcdef";
        auto const byte = static_cast<unsigned char>(bytes[i]);
        out += {digits[byte >> 4], digits[byte & 15], i % 16 == 15 ? '\n' : ' '};
    }
    return out + "\n";
}

}  // namespace journal_test

BOOST_AUTO_TEST_SUITE(journal_test)

BOOST_AUTO_TEST_CASE(the_format_on_disk_is_stable) {
    auto const record = encode_record(PreemptionAcknowledged{UtcTime{1'795'262'400'000'042}});
    check_golden(
        "formats/journal.hex",
        to_hex(render_header() + render_frame(static_cast<std::uint16_t>(record.type), record.payload)));
}

BOOST_AUTO_TEST_CASE(several_threads_may_append) {
    constexpr int threads = 4;
    constexpr int records = 100;
    TemporaryDirectory directory;
    {
        auto writer = must(JournalWriter::create(directory / "journal"));
        std::vector<std::jthread> running;
        for (int thread = 0; thread < threads; ++thread) {
            running.emplace_back([&] {
                for (int step = 1; step <= records; ++step) (void)writer.append(metric(step));
            });
        }
        running.clear();
    }
    auto const contents = must(load_journal(directory / "journal"));
    BOOST_TEST(contents.records.size() == static_cast<std::size_t>(threads * records));
    BOOST_TEST((contents.tail == FrameState::end));
}

BOOST_AUTO_TEST_CASE(a_closed_journal_is_continued_after_its_last_complete_record) {
    TemporaryDirectory directory;
    auto const path = directory / "journal";
    for (int step = 1; step <= 2; ++step) {
        auto writer = must(JournalWriter::open(path));
        must(writer.append(metric(step)));
        BOOST_TEST((must_fail(JournalWriter::open(path)).code == codes::misuse));
    }
    auto const bytes = must(read_file(path));
    must(write_file(path, bytes.substr(0, bytes.size() - 1)));
    must(must(JournalWriter::open(path)).append(metric(3)));
    auto const contents = must(load_journal(path));
    BOOST_TEST((contents.tail == FrameState::end));
    BOOST_REQUIRE(contents.records.size() == 2u);
    BOOST_TEST(std::get<MetricsReported>(contents.records[1]).steps_completed == 3u);
}

BOOST_AUTO_TEST_CASE(appended_records_are_read_back) {
    TemporaryDirectory directory;
    auto writer = must(JournalWriter::create(directory / "journal"));
    for (int step = 1; step <= 3; ++step) must(writer.append(metric(step), Durability::power_loss));
    auto const contents = must(load_journal(directory / "journal"));
    BOOST_TEST(contents.records.size() == 3u);
    BOOST_TEST((contents.tail == FrameState::end));
    BOOST_TEST(std::get<MetricsReported>(contents.records[2]).steps_completed == 3u);
    BOOST_TEST(must(read_file(directory / "journal")) == journal_of(3));
}

BOOST_AUTO_TEST_CASE(a_journal_has_one_writer) {
    TemporaryDirectory directory;
    auto writer = must(JournalWriter::create(directory / "journal"));
    BOOST_TEST(!JournalWriter::create(directory / "journal").has_value());
}

BOOST_AUTO_TEST_CASE(an_absent_or_empty_journal_has_no_records) {
    TemporaryDirectory directory;
    BOOST_TEST(must(load_journal(directory / "absent")).records.empty());
    BOOST_TEST(must(parse_journal("")).records.empty());
}

BOOST_AUTO_TEST_CASE(a_truncated_journal_has_its_whole_records) {
    auto const bytes = journal_of(3);
    auto const frame_size = (bytes.size() - header_size_bytes) / 3;
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        auto const contents = must(parse_journal(std::string_view(bytes).substr(0, size)));
        auto const whole = size < header_size_bytes ? 0 : (size - header_size_bytes) / frame_size;
        BOOST_TEST(contents.records.size() <= 3u);
        BOOST_TEST(contents.good_size_bytes <= size);
        if (contents.records.size() > whole + 1) BOOST_ERROR("believed more than was there at size " << size);
        bool const at_end = size == contents.good_size_bytes;
        BOOST_TEST(((contents.tail == FrameState::end) == at_end), "size " << size);
    }
}

BOOST_AUTO_TEST_CASE(each_changed_bit_is_reported_and_the_other_records_are_read) {
    auto const bytes = journal_of(3);
    auto const original = must(parse_journal(bytes)).records;
    for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
        auto changed = bytes;
        changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
        auto const contents = parse_journal(changed);
        if (!contents) {
            // A header of a higher version with a valid checksum can't result from one changed bit.
            BOOST_ERROR("bit " << bit << ": " << contents.error().message);
            continue;
        }
        BOOST_TEST(contents->damage.size() == 1u, "bit " << bit);
        bool const is_header = bit / 8 < header_size_bytes;
        BOOST_TEST(contents->records.size() == (is_header ? 3u : 2u), "bit " << bit);
        for (auto const& record : contents->records) {
            auto const is_same = [&](auto const& known) { return to_json(known) == to_json(record); };
            BOOST_TEST(std::ranges::any_of(original, is_same), "bit " << bit);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_tail_whose_data_never_reached_the_disk_is_torn) {
    auto const bytes = journal_of(2);
    auto const whole = journal_of(1).size();
    for (std::size_t written = whole + 1; written < bytes.size(); ++written) {
        auto cut = bytes.substr(0, written);
        cut.resize(bytes.size() + 100, '\0');  // the file system has set the size, and not written the data
        auto const contents = must(parse_journal(cut));
        BOOST_TEST((contents.tail == FrameState::torn), "written " << written);
        BOOST_TEST(contents.damage.empty(), "written " << written);
        BOOST_TEST(contents.records.size() == 1u);
    }
}

BOOST_AUTO_TEST_CASE(metrics_whose_schema_is_damaged_are_reported_as_damage) {
    MetricFrameWriter metrics;
    std::array<Metric, 1> const loss{{{"loss", 0.5}}};
    metrics.add(UtcTime{2}, "training", 2, loss);
    auto bytes = journal_of(1);
    auto const schema_offset = bytes.size();
    for (auto const& record : metrics.take())
        bytes += render_frame(static_cast<std::uint16_t>(record.type), record.payload);
    bytes += journal_of(1).substr(header_size_bytes);
    bytes[schema_offset + frame_head_size_bytes] ^= 1;
    auto const contents = must(parse_journal(bytes));
    BOOST_TEST(contents.damage.size() == 2u);
    BOOST_TEST(contents.records.size() == 2u);
}

BOOST_AUTO_TEST_CASE(the_search_for_the_next_frame_is_bounded) {
    // Each of these positions looks like the head of a frame of 1 MiB.
    std::string bytes = render_header();
    std::string head;
    append_value(head, std::uint32_t{1} << 20);
    append_value(head, std::uint16_t{3});
    append_value(head, std::uint16_t{0});
    while (bytes.size() < (std::size_t{8} << 20)) bytes += head;
    auto const begin = std::chrono::steady_clock::now();
    auto const contents = must(parse_journal(bytes));
    BOOST_TEST(contents.damage.size() == 1u);
    BOOST_TEST((std::chrono::steady_clock::now() - begin < std::chrono::seconds(30)));
}

BOOST_AUTO_TEST_CASE(after_100_damaged_ranges_the_rest_of_the_journal_is_one) {
    std::string bytes = render_header();
    constexpr int pairs = 300;
    for (int i = 0; i < pairs; ++i) bytes += render_frame(60'000, "") + std::string(40, 'x');
    auto const contents = must(parse_journal(bytes));
    BOOST_TEST(contents.damage.size() == 100u);
    BOOST_TEST(contents.skipped == 100u);
    auto const& last = contents.damage.back();
    BOOST_TEST(last.offset_bytes + last.size_bytes == bytes.size());
}

BOOST_AUTO_TEST_CASE(a_damaged_journal_is_an_error_until_the_user_accepts_it) {
    TemporaryDirectory directory;
    ExperimentLayout const experiment(directory / "7");
    auto const run = experiment.trial(3).run(0);
    must(make_directories(run.path()));
    auto bytes = journal_of(3);
    auto const damaged_at = journal_of(1).size();
    auto const frame_size = journal_of(2).size() - damaged_at;
    bytes[damaged_at + frame_head_size_bytes + 3] ^= 4;
    must(write_file(run.supervisor_journal(), journal_of(2)));
    must(write_file(run.chief_journal(), bytes));

    auto const error = must_fail(load_journal(run.chief_journal()));
    BOOST_TEST((error.code == codes::journal_damaged));
    BOOST_TEST(error.message.find(fmt::format("at byte {}", damaged_at)) != std::string::npos, error.message);
    auto const damaged = must(find_damaged_journals(experiment));
    BOOST_REQUIRE(damaged.size() == 1u);
    BOOST_TEST(damaged[0].path == run.chief_journal());
    BOOST_TEST((damaged[0].damage == std::vector{DamagedRange{damaged_at, frame_size}}));

    JournalTail tail(run.chief_journal());
    BOOST_TEST(must(tail.read_new()).size() == 1u);
    for (int call = 0; call < 2; ++call)
        BOOST_TEST((must_fail(tail.read_new()).code == codes::journal_damaged));

    must(accept_damage(damaged[0]));
    BOOST_TEST(must(load_journal(run.chief_journal())).records.size() == 2u);
    BOOST_TEST(must(find_damaged_journals(experiment)).empty());
    BOOST_TEST(must(tail.read_new()).size() == 1u);

    // Damage that comes later is not accepted.
    bytes[header_size_bytes + frame_head_size_bytes] ^= 1;
    must(write_file(run.chief_journal(), bytes));
    BOOST_TEST((must_fail(load_journal(run.chief_journal())).code == codes::journal_damaged));
}

BOOST_AUTO_TEST_CASE(an_unknown_record_is_skipped_by_its_size) {
    auto const bytes =
        journal_of(1) + render_frame(4711, "from the future") + journal_of(1).substr(header_size_bytes);
    auto const contents = must(parse_journal(bytes));
    BOOST_TEST(contents.records.size() == 2u);
    BOOST_TEST(contents.skipped == 1u);
}

BOOST_AUTO_TEST_CASE(a_journal_of_a_later_minor_version_is_read) {
    // The journal of a newer program has a record type, a field and a cause that this program lacks.
    auto bytes = render_header().substr(0, 10) + std::string("\x07\0", 2);
    append_value(bytes, crc32c(bytes));
    bytes += render_frame(999, "?");
    bytes +=
        render_frame(2, R"({"bad_hosts":"","cause":"moved-away","exit_code":0,"follow":"stop",)"
                        R"("message":"it runs elsewhere","time":"2026-11-21T12:00:00.000042Z","where":"x"})");
    auto const encoded = encode_record(metric(3));
    bytes += render_frame(static_cast<std::uint16_t>(encoded.type), encoded.payload);
    auto const contents = must(parse_journal(bytes));
    BOOST_TEST((contents.tail == FrameState::end));
    BOOST_TEST(contents.skipped == 1);
    BOOST_REQUIRE(contents.records.size() == 2u);
    BOOST_TEST(std::get<RunEnded>(contents.records[0]).cause_name() == "moved-away");
    BOOST_TEST(std::get<MetricsReported>(contents.records[1]).steps_completed == 3u);
}

BOOST_AUTO_TEST_CASE(a_newer_major_version_is_refused) {
    auto bytes = render_header().substr(0, 12);
    bytes[8] = 2;
    append_value(bytes, crc32c(bytes));
    BOOST_TEST((must_fail(check_header(bytes)).code == codes::newer_format));
    bytes[8] = 3;
    BOOST_TEST((must_fail(check_header(bytes)).code == codes::damaged));
    BOOST_TEST((must_fail(parse_journal("not a journal at all, but text")).code == codes::damaged));
}

BOOST_AUTO_TEST_CASE(after_a_failed_write_the_journal_ends_after_the_last_whole_record) {
    TemporaryDirectory directory;
    auto writer = must(JournalWriter::create(directory / "journal"));
    must(writer.append(metric(1)));
    auto const size = must(read_file(directory / "journal")).size();
    // The file may not grow by more than a few bytes: the next record is cut in the middle.
    {
        FileSizeLimit const limit(size + 20);
        BOOST_TEST(!writer.append(metric(2)).has_value());
    }
    BOOST_TEST(must(read_file(directory / "journal")).size() == size);
    must(writer.append(metric(3)));
    BOOST_TEST(must(load_journal(directory / "journal")).records.size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_file_system_that_becomes_read_only_and_comes_back_loses_only_the_refused_record) {
    TemporaryDirectory directory;
    auto writer = must(JournalWriter::create(directory / "journal"));
    must(writer.append(metric(1)));
    auto const size = must(read_file(directory / "journal")).size();
    truncate_error = EROFS;
    {
        FileSizeLimit const limit(size + 20);
        BOOST_TEST(!writer.append(metric(2)).has_value());
    }
    BOOST_TEST(must(read_file(directory / "journal")).size() == size + 20);  // an incomplete frame
    BOOST_TEST((must_fail(writer.append(metric(3))).code == codes::file_system));
    truncate_error = 0;
    must(writer.append(metric(4)));
    auto const records = must(load_journal(directory / "journal")).records;
    BOOST_REQUIRE(records.size() == 2u);
    BOOST_TEST(std::get<MetricsReported>(records[1]).steps_completed == 4u);
}

BOOST_AUTO_TEST_CASE(a_replacement_names_the_trial_that_it_replaces) {
    TemporaryDirectory directory;
    ExperimentLayout const experiment(directory / "7");
    must(make_directories(experiment.trial(9).path()));
    BOOST_TEST((must(load_replaced_trial(experiment, 9)) == std::nullopt));
    must(write_file(experiment.trial(9).replaces(), "3\n"));
    BOOST_TEST((must(load_replaced_trial(experiment, 9)) == 3));
    for (auto const* text : {"", "\n", "-1\n", "three\n", "3.5\n", "9\n", "10\n"}) {
        must(write_file(experiment.trial(9).replaces(), text));
        BOOST_TEST((must_fail(load_replaced_trial(experiment, 9)).code == codes::damaged), text);
    }
}

BOOST_AUTO_TEST_CASE(binary_metrics_and_json_metrics_are_read_alike) {
    TemporaryDirectory directory;
    auto const path = directory / "journal";
    auto writer = must(JournalWriter::create(path));
    JournalTail tail(path);
    MetricFrameWriter metrics;
    std::array<Metric, 1> const loss{{{"loss", 0.5}}};
    must(writer.append(metric(1)));
    metrics.add(UtcTime{2}, "training", 2, loss);
    metrics.add(UtcTime{3}, "validation", 2, loss);
    for (auto const& record : metrics.take()) must(writer.append(record));
    BOOST_TEST(must(tail.read_new()).size() == 3u);
    metrics.add(UtcTime{4}, "training", 3, loss);  // its schema is in an earlier frame
    for (auto const& record : metrics.take()) must(writer.append(record));
    BOOST_TEST(must(tail.read_new()).size() == 1u);

    auto const all = must(load_journal(path)).records;
    BOOST_REQUIRE(all.size() == 4u);
    for (std::size_t i = 0; i < all.size(); ++i) {
        auto const expected = Json{{"loss", i == 0 ? 1.0 : 0.5}};
        BOOST_TEST((std::get<MetricsReported>(all[i]).metrics == expected));
    }
    auto const validations = must(load_journal(path, "validation")).records;
    BOOST_REQUIRE(validations.size() == 1u);
    BOOST_TEST(std::get<MetricsReported>(validations[0]).time.microseconds == 3);
}

BOOST_AUTO_TEST_SUITE_END()
