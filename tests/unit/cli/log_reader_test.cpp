#include "logs/log_reader.hpp"

#include <boost/test/unit_test.hpp>

#include "cli_support.hpp"
#include "logs/log_follower.hpp"

using namespace det;
using namespace det::cli;
using namespace det::experiment;

namespace log_reader_test {

std::string line_of(int rank, std::string const& text) {
    return "2026-11-21T08:15:30.000001Z [rank=" + std::to_string(rank) + "] " + text + "\n";
}

struct Fixture {
    TemporaryDirectory directory;
    std::filesystem::path path = directory / "node-0.log";
    LogFilter filter;

    std::vector<std::string> read(std::size_t from, TornLine torn, std::size_t buffer_size = 16384) const {
        std::vector<std::string> texts;
        LogReader reader(path, from, buffer_size, filter, torn);
        while (must(reader.next())) texts.emplace_back(reader.line().text);
        return texts;
    }
    void write(std::string const& text) const { must(write_file(path, text)); }
};

struct Followed {
    TemporaryDirectory directory;
    TrialLayout trial{directory.path()};
    LogChoice choice;

    void append(std::uint32_t run, int node, std::string const& text) const {
        must(make_directories(trial.run(run).path()));
        auto const path = trial.run(run).node_log(node);
        must(write_file(path, (path_exists(path) ? must(read_file(path)) : "") + text));
    }
    static std::string news(LogFollower& follower, TornLine torn = TornLine::leave) {
        std::string texts;
        must(follower.read_new_lines(torn, [&](LogLine const& line) {
            texts += std::to_string(line.run) + std::string(line.text) + " ";
            return SinkResult::go_on;
        }));
        return texts;
    }
};

void check_lines(std::vector<std::string> const& actual, std::vector<std::string> const& expected) {
    BOOST_TEST(actual == expected, boost::test_tools::per_element());
}

}  // namespace log_reader_test

BOOST_FIXTURE_TEST_SUITE(log_reader_test, Fixture)

BOOST_AUTO_TEST_CASE(the_first_line_of_a_time_is_found) {
    std::string text;
    std::vector<std::size_t> offsets;
    auto const time_of = [](int number) {
        return format_utc(UtcTime{1'790'000'000'000'000 + std::int64_t{number} * 1'000'000});
    };
    constexpr int lines = 5000;
    for (int number = 0; number < lines; ++number) {
        offsets.push_back(text.size());
        text +=
            time_of(number) + " [rank=0] " + std::string(static_cast<std::size_t>(number % 200), 'x') + "\n";
    }
    auto const whole = text.size();
    write(text + "torn");
    for (int const number : {0, 1, 2, 17, 2499, 4998, 4999})
        BOOST_TEST(
            must(find_offset_of_time(path, time_of(number))) == offsets[static_cast<std::size_t>(number)],
            number);
    BOOST_TEST(must(find_offset_of_time(path, time_of(-5))) == 0u);
    BOOST_TEST(must(find_offset_of_time(path, time_of(lines))) == whole);
    BOOST_TEST(must(find_offset_of_time(directory / "absent", time_of(0))) == 0u);
}

BOOST_AUTO_TEST_CASE(reading_stops_at_a_given_end) {
    write(line_of(0, "one") + line_of(0, "two") + line_of(0, "three"));
    auto const end = 2 * line_of(0, "one").size();
    LogReader reader(path, 0, 16384, filter, TornLine::leave, end);
    BOOST_TEST(must(reader.next()));
    BOOST_TEST(must(reader.next()));
    BOOST_TEST(std::string(reader.line().text) == "two");
    BOOST_TEST(!must(reader.next()));
    auto const tail = must(find_tail(path, 0, 1, filter, end));
    BOOST_TEST(tail.count == 1u);
    BOOST_TEST(tail.offset == line_of(0, "one").size());
    BOOST_TEST(must(find_tail(path, 0, 5, filter, 0)).count == 0u);
}

BOOST_AUTO_TEST_CASE(lines_are_the_same_however_small_the_buffer_is) {
    std::string text;
    for (int i = 0; i < 300; ++i)
        text += line_of(i % 4, std::to_string(i) + std::string(static_cast<std::size_t>(i), 'x'));
    write(text);
    auto const whole = read(0, TornLine::leave, 1 << 20);
    BOOST_TEST(whole.size() == 300u);
    for (std::size_t const size : {400, 401, 512, 1000})
        BOOST_TEST(read(0, TornLine::leave, size) == whole, size);
}

BOOST_AUTO_TEST_CASE(a_torn_line_waits_for_its_rest) {
    write(line_of(0, "a") + "2026-11");
    check_lines(read(0, TornLine::leave), {"a"});
    check_lines(read(0, TornLine::show), {"a", "2026-11"});
    LogReader reader(path, 0, 16384, filter, TornLine::leave);
    while (must(reader.next())) {
    }
    BOOST_TEST(reader.offset() == line_of(0, "a").size());
}

BOOST_AUTO_TEST_CASE(a_line_longer_than_the_buffer_is_split) {
    write(std::string(1000, 'x') + "\n");
    check_lines(read(0, TornLine::leave, 400),
                {std::string(400, 'x'), std::string(400, 'x'), std::string(200, 'x')});
}

BOOST_AUTO_TEST_CASE(a_removed_or_truncated_log_is_at_its_end) {
    check_lines(read(0, TornLine::show), {});
    write("a\n");
    check_lines(read(100, TornLine::show), {});
    BOOST_TEST(must(find_tail(path, 100, 5, filter)).count == 0u);
}

BOOST_AUTO_TEST_CASE(an_unreadable_log_is_an_error) {
    must(make_directory(path));
    LogReader reader(path, 0, 16384, filter, TornLine::show);
    auto const found = reader.next();
    BOOST_REQUIRE(!found);
    BOOST_TEST(found.error().message.find("node-0.log") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_last_matching_lines_are_found_from_the_end) {
    std::string text;
    std::vector<std::size_t> begins;
    for (int i = 0; i < 60'000; ++i) {  // several windows
        if (i % 100 == 7) begins.push_back(text.size());
        text += line_of(i % 100, "a line of ordinary length, as programs print it");
    }
    write(text);
    filter.only_rank(7);
    for (std::size_t const count : {1, 10, 100, 599, 600}) {
        auto const tail = must(find_tail(path, 0, count, filter));
        BOOST_TEST(tail.count == count);
        BOOST_TEST(tail.offset == begins[begins.size() - count]);
    }
    BOOST_TEST(must(find_tail(path, 0, 601, filter)).count == 600u);
    BOOST_TEST(must(find_tail(path, begins[590], 601, filter)).count == 10u);
    filter.only_rank(777);
    BOOST_TEST(must(find_tail(path, 0, 5, filter)).offset == text.size());
    write(text + "torn");
    BOOST_TEST(must(find_tail(path, 0, 0, filter)).offset == text.size());
    BOOST_TEST(must(find_tail(path, 0, 0, filter)).count == 0u);
}

BOOST_AUTO_TEST_CASE(lines_without_a_label_are_those_of_rank_0_of_a_trial_of_one_rank) {
    write("2026-11-21T08:15:30.000001Z a\n" + line_of(0, "b") + line_of(1, "c"));
    filter.only_rank(0);
    check_lines(read(0, TornLine::show), {"b"});
    filter.take_lines_without_label();
    check_lines(read(0, TornLine::show), {"a", "b"});
    filter.only_rank(1);
    check_lines(read(0, TornLine::show), {"c"});
}

BOOST_AUTO_TEST_CASE(the_filter_selects_exactly_one_rank) {
    write(line_of(1, "a") + line_of(11, "b") + "[rank=1] no time\n" + line_of(1, "[rank=2] c"));
    filter.only_rank(1);
    check_lines(read(0, TornLine::show), {"a", "[rank=2] c"});
}

BOOST_AUTO_TEST_CASE(moments_are_written_in_several_ways) {
    UtcTime const now{1'795'262'400'000'000};  // 2026-11-21T12:00:00Z
    auto const is = [&](std::string_view text, std::string const& expected) {
        auto const moment = parse_moment(text, now);
        BOOST_TEST((moment ? format_utc(*moment) : "none") == expected, text);
    };
    is("2026-11-20", "2026-11-20T00:00:00.000000Z");
    is("2026-11-20T08:30", "2026-11-20T08:30:00.000000Z");
    is("2026-11-20 08:30:01", "2026-11-20T08:30:01.000000Z");
    is("2026-11-20T08:30:01.25Z", "2026-11-20T08:30:01.250000Z");
    is("90s", "2026-11-21T11:58:30.000000Z");
    is("15m", "2026-11-21T11:45:00.000000Z");
    is("2h", "2026-11-21T10:00:00.000000Z");
    is("3d", "2026-11-18T12:00:00.000000Z");
    for (auto const* wrong :
         {"", "s", "-3h", "3w", "yesterday", "2026-13-01", "2026-11-20T8:30", "99999999999d"})
        is(wrong, "none");
}

BOOST_FIXTURE_TEST_CASE(a_follower_goes_on_over_runs_and_nodes_that_appear, Followed) {
    LogFollower follower(trial, choice);
    BOOST_TEST(news(follower) == "");
    append(0, 0, line_of(0, "a") + "2026-11-21T08");
    BOOST_TEST(news(follower) == "0a ");
    BOOST_TEST(news(follower) == "");
    append(0, 0, ":15:30.000001Z [rank=0] b\n");
    append(0, 1, line_of(4, "c"));
    BOOST_TEST(news(follower) == "0b 0c ");
    append(1, 0, line_of(0, "d"));
    append(0, 1, line_of(4, "last"));  // run 1 has begun, and a node of run 0 still writes
    BOOST_TEST(news(follower) == "0last 1d ");
    BOOST_TEST(news(follower) == "");
    append(1, 0, "torn");
    BOOST_TEST(news(follower) == "");
    BOOST_TEST(news(follower, TornLine::show) == "1torn ");
}

BOOST_FIXTURE_TEST_CASE(a_tail_leaves_out_what_is_before_it_and_nothing_behind_it, Followed) {
    append(0, 0, line_of(0, "a"));
    append(1, 0, line_of(0, "b") + line_of(0, "c"));
    LogFollower follower(trial, choice);
    must(follower.skip_to_tail(1));
    BOOST_TEST(news(follower) == "1c ");
    append(1, 0, line_of(0, "d"));
    append(2, 0, line_of(0, "e"));
    BOOST_TEST(news(follower) == "1d 2e ");
}

BOOST_FIXTURE_TEST_CASE(a_tail_of_no_lines_begins_at_the_end_of_the_run_in_progress, Followed) {
    append(0, 0, line_of(0, "a"));
    append(1, 0, line_of(0, "b") + "2026-11-21T08");
    LogFollower follower(trial, choice);
    must(follower.skip_to_tail(0));
    BOOST_TEST(news(follower) == "");
    append(1, 0, ":15:30.000001Z [rank=0] c\n" + line_of(0, "d"));
    append(1, 1, line_of(4, "e"));
    append(2, 0, line_of(0, "f"));
    BOOST_TEST(news(follower) == "1c 1d 1e 2f ");
}

BOOST_AUTO_TEST_SUITE_END()
