// The log of a rank, and what happens if it can't be written.
#include "node_log_writer.hpp"

#include <det/foundation/text.hpp>

#include <boost/test/unit_test.hpp>

#include "check_result.hpp"
#include "fake_clock.hpp"
#include "output_lines.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace det::launch::wrap_rank;

namespace rank_log_test {

/// The lines that are logged of a stream whose pieces arrive at intervals of step_us; 0: all at once.
std::vector<std::string> kept(std::vector<std::string> const& pieces, std::int64_t step_us = 0) {
    LineSplitter splitter;
    ProgressBars bar;
    UtcTime now{0};
    std::vector<std::string> lines;
    auto const keep = [&](std::string_view line) { lines.emplace_back(line); };
    auto const take = [&](std::string_view line, LineEnd end) { bar.take(line, end, now, keep); };
    for (auto const& piece : pieces) {
        splitter.feed(piece, take);
        now.microseconds += step_us;
    }
    splitter.finish(take);
    bar.finish(keep);
    return lines;
}

void check_kept(std::vector<std::string> const& pieces, std::vector<std::string> const& expected) {
    BOOST_TEST(kept(pieces) == expected, boost::test_tools::per_element());
}

struct Fixture {
    TemporaryDirectory directory;
    FakeClock clock;
    std::vector<std::string> complaints;

    NodeLogWriter open(std::filesystem::path const& path) {
        return NodeLogWriter(path, "[rank=3] ", clock,
                             [this](Error const& error) { complaints.push_back(error.message); });
    }
    std::string line(std::string const& text) const {
        return format_utc(clock.now()) + " [rank=3] " + text + "\n";
    }
    std::string content(std::string const& name) const { return must(read_file(directory / name)); }
};

}  // namespace rank_log_test

BOOST_FIXTURE_TEST_SUITE(rank_log_test, Fixture)

BOOST_AUTO_TEST_CASE(a_progress_bar_is_logged_as_its_last_state) {
    check_kept({"a\n 10%\r 50%\r100%\nb\n"}, {"a", "100%", "b"});
    check_kept({"\r 10%\r 50%", "\r100%\n"}, {"100%"});  // as tqdm paints
    check_kept({" 10%\r 50%\r"}, {" 50%"});              // killed in the middle of it
    check_kept({" 10%\r 50%"}, {" 50%"});
}

BOOST_AUTO_TEST_CASE(a_line_with_crlf_is_one_line) {
    check_kept({"a\r\nb\r\n\r\nc\n\n"}, {"a", "b", "", "c", ""});
    check_kept({"a\r", "\nb"}, {"a", "b"});
}

BOOST_AUTO_TEST_CASE(a_long_line_is_kept_in_pieces) {
    check_kept({std::string(9000, 'x') + "\rshort\n"}, {std::string(8191, 'x'), "short"});
}

BOOST_AUTO_TEST_CASE(a_long_running_bar_is_logged_repeatedly) {
    std::vector<std::string> states;
    for (int i = 0; i <= 100; ++i) states.push_back(std::to_string(i) + "%\r");
    states.emplace_back("\n");
    BOOST_TEST(kept(states, 1'000'000) == (std::vector<std::string>{"30%", "60%", "90%", "100%"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(lines_are_appended_to_those_of_other_processes) {
    must(write_file(directory / "log", "others\n"));
    auto log = open(directory / "log");
    log.append(line("a"));
    BOOST_TEST(content("log") == "others\n" + line("a"));
    BOOST_TEST(complaints.empty());
}

BOOST_AUTO_TEST_CASE(a_log_that_cannot_be_opened_is_reported_once_and_tried_again) {
    auto log = open(directory / "gone/log");
    log.append(line("a"));
    log.append(line("b") + line("c"));
    BOOST_REQUIRE(complaints.size() == 1u);
    BOOST_TEST(complaints[0].find("gone/log") != std::string::npos);
    must(make_directory(directory / "gone"));
    log.append(line("too soon"));
    clock.sleep_for(std::chrono::seconds(1));
    log.append(line("d"));
    BOOST_TEST(content("gone/log") == line("det-wrap-rank: 4 lines are missing here") + line("d"));
    BOOST_TEST(complaints.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_removed_log_is_reported) {
    auto log = open(directory / "log");
    log.append(line("a"));
    must(remove_tree(directory / "log"));
    log.finish();
    BOOST_REQUIRE(complaints.size() == 1u);
    BOOST_TEST(complaints[0].ends_with("was removed"));
}

BOOST_AUTO_TEST_CASE(a_removed_log_is_created_again) {
    auto log = open(directory / "log");
    log.append(line("a"));
    must(remove_tree(directory / "log"));
    clock.sleep_for(std::chrono::seconds(2));
    log.append(line("b"));
    BOOST_TEST(content("log") == line("b"));
}

BOOST_AUTO_TEST_CASE(a_full_disk_is_reported_once) {
    auto log = open("/dev/full");
    for (int i = 0; i < 3; ++i) {
        log.append(line("a"));
        clock.sleep_for(std::chrono::seconds(1));
    }
    BOOST_REQUIRE(complaints.size() == 1u);
    BOOST_TEST(complaints[0].ends_with("No space left on device"));
    BOOST_TEST(log.last_output() == "a\na\na\n");
}

BOOST_AUTO_TEST_CASE(last_output_is_bounded_whole_lines_without_label) {
    auto log = open(directory / "log");
    BOOST_TEST(log.last_output() == "");
    for (int i = 0; i < 5000; ++i) log.append(line(std::to_string(i)));
    auto const text = log.last_output();
    BOOST_TEST(text.size() < NodeLogWriter::last_output_size_max);
    BOOST_TEST(text.ends_with("\n4998\n4999\n"));
    auto const longest = std::string(8191, 'x');
    log.append(line(longest));
    BOOST_TEST(log.last_output().ends_with(longest + "\n"));
    log.append(line(longest) + line(longest) + line(longest));
    BOOST_TEST(log.last_output() == longest + "\n");
    std::string many;
    for (int i = 0; i < 5000; ++i) many += line(std::to_string(i));
    log.append(many);
    BOOST_TEST(log.last_output() == text);
}

BOOST_AUTO_TEST_SUITE_END()
