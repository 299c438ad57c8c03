#include <boost/test/unit_test.hpp>

#include "cli_support.hpp"
#include "logs/log_reader.hpp"

using namespace det;
using namespace det::cli;
using namespace det::experiment;

namespace log_merge_test {

std::string at(int second, std::string const& text) {
    return "2026-11-21T08:15:" + std::to_string(second) + ".000001Z " + text;
}

struct Fixture {
    TemporaryDirectory run;

    void write(std::string const& name, std::string const& text) const { must(write_file(run / name, text)); }
    /// "node:text" of each line.
    std::vector<std::string> merged() const {
        std::vector<NodeLog> logs;
        for (auto const& name : must(list_directory(run.path()))) {
            if (auto const node = node_of_log(name)) logs.push_back({run / name, *node, 0});
        }
        std::vector<std::string> lines;
        auto const sink = [&](LogLine const& line) {
            lines.push_back(std::to_string(line.node) + ":" + std::string(line.text));
            return SinkResult::go_on;
        };
        must(merge_node_logs(logs, 0, {}, TornLine::show, sink));
        return lines;
    }
};

void check_lines(std::vector<std::string> const& actual, std::vector<std::string> const& expected) {
    BOOST_TEST(actual == expected, boost::test_tools::per_element());
}

}  // namespace log_merge_test

BOOST_FIXTURE_TEST_SUITE(log_merge_test, Fixture)

BOOST_AUTO_TEST_CASE(a_line_is_split_into_time_rank_and_text) {
    auto const whole = at(30, "[rank=12] loss [0.5] done");
    auto const line = parse_log_line(whole);
    BOOST_TEST(line.whole == whole);
    BOOST_TEST(line.time == "2026-11-21T08:15:30.000001Z");
    BOOST_TEST(line.rank.value() == 12u);
    BOOST_TEST(line.text == "loss [0.5] done");
}

BOOST_AUTO_TEST_CASE(a_launchers_line_has_no_rank) {
    for (std::string const text : {"starting", "[rank=x] hm", "[rank=] hm", "[rank=1", "[rank=-1] hm"}) {
        auto const whole = at(30, text);
        auto const line = parse_log_line(whole);
        BOOST_TEST(!line.rank.has_value(), text);
        BOOST_TEST(line.text == text);
        BOOST_TEST(!line.time.empty());
    }
}

BOOST_AUTO_TEST_CASE(a_line_without_a_time_is_all_text) {
    for (std::string const text : {"", "Killed", "2026-11-21T08:15:30.000001Z", "[rank=1] x"}) {
        auto const line = parse_log_line(text);
        BOOST_TEST(line.text == text);
        BOOST_TEST(line.time == "");
        BOOST_TEST(!line.rank.has_value());
    }
    BOOST_TEST(parse_log_line(at(30, "[rank=0] ")).text == "");
}

BOOST_AUTO_TEST_CASE(lines_of_all_nodes_come_in_the_order_of_time) {
    write("node-0.log", at(10, "[rank=0] a") + "\n" + at(30, "[rank=0] d") + "\n");
    write("node-1.log", at(20, "[rank=4] b") + "\n" + at(40, "[rank=4] e") + "\n");
    write("node-10.log", at(25, "[rank=40] c") + "\n");
    check_lines(merged(), {"0:a", "1:b", "10:c", "0:d", "1:e"});
}

BOOST_AUTO_TEST_CASE(lines_of_the_same_time_are_ordered_by_node) {
    for (auto const* node : {"10", "2", "0"})
        write("node-" + std::string(node) + ".log", at(10, "x") + "\n" + at(11, "y") + "\n");
    check_lines(merged(), {"0:x", "2:x", "10:x", "0:y", "2:y", "10:y"});
}

BOOST_AUTO_TEST_CASE(a_line_without_time_follows_the_line_before_it) {
    write("node-0.log", at(10, "a") + "\nno time\n" + at(30, "c") + "\n");
    write("node-1.log", at(11, "b") + "\n");
    check_lines(merged(), {"0:a", "0:no time", "1:b", "0:c"});
}

BOOST_AUTO_TEST_CASE(an_incomplete_last_line_is_shown) {
    write("node-0.log", at(10, "a") + "\n" + at(12, "hal"));
    write("node-1.log", at(11, "b") + "\n2026-11-2");
    check_lines(merged(), {"0:a", "1:b", "1:2026-11-2", "0:hal"});
}

BOOST_AUTO_TEST_CASE(only_node_logs_are_logs) {
    for (auto const* name : {"life", "journal", "node-.log", "node-x.log", "node-1.log.old", "node-1"})
        write(name, at(10, "x") + "\n");
    check_lines(merged(), {});
    must(remove_tree(run.path()));
    check_lines(merged(), {});
}

BOOST_AUTO_TEST_CASE(a_log_of_many_lines_is_read_to_its_end) {
    std::string text;
    for (int i = 0; i < 5000; ++i) text += at(10 + i / 200, "[rank=0] " + std::to_string(i)) + "\n";
    write("node-0.log", text);
    auto const lines = merged();
    BOOST_TEST(lines.size() == 5000u);
    BOOST_TEST(lines.back() == "0:4999");
}

BOOST_AUTO_TEST_SUITE_END()
