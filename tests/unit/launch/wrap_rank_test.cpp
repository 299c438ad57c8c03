// det-wrap-rank as a process.
#include <det/foundation/clock.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/process.hpp>
#include <det/foundation/text.hpp>

#include <boost/test/unit_test.hpp>
#include <csignal>

#include "check_result.hpp"
#include "output_lines.hpp"
#include "temporary_directory.hpp"
#include "test_paths.hpp"

using namespace det;

namespace wrap_rank_test {

ProcessOutput wrap(std::vector<std::string> arguments,
                   Environment environment = Environment::of_this_process()) {
    arguments.insert(arguments.begin(), det::test::built_path("bin/det-wrap-rank"));
    SystemProcessRunner runner;
    return must(runner.run({std::move(arguments), std::move(environment), std::chrono::seconds(20)}));
}

ProcessOutput wrap_shell(std::string const& rank, std::string const& script) {
    return wrap({rank, "/bin/sh", "-c", script});
}

}  // namespace wrap_rank_test

BOOST_AUTO_TEST_SUITE(wrap_rank_test)

BOOST_AUTO_TEST_CASE(each_stream_keeps_its_lines_with_the_label) {
    auto const output = wrap_shell("3", "echo hi >&2; echo there");
    BOOST_TEST(output.err == "[rank=3] hi\n");
    BOOST_TEST(output.out == "[rank=3] there\n");
}

BOOST_AUTO_TEST_CASE(a_carriage_return_ends_a_line_too) {
    BOOST_TEST(wrap_shell("0", "printf 'a\\rb\\n'").out == "[rank=0] a\n[rank=0] b\n");
}

BOOST_AUTO_TEST_CASE(a_last_line_without_newline_gets_one_and_the_exit_code_is_kept) {
    auto const output = wrap_shell("0", "printf x; exit 7");
    BOOST_TEST(output.out == "[rank=0] x\n");
    BOOST_TEST(output.exit_code == 7);
}

BOOST_AUTO_TEST_CASE(the_rank_is_read_from_the_named_variables) {
    auto environment = Environment::of_this_process();
    environment.set("PMI_RANK", "5");
    BOOST_TEST(wrap({"HOROVOD_RANK,PMI_RANK", "/bin/echo", "x"}, environment).out == "[rank=5] x\n");
    auto const absent = wrap({"HOROVOD_RANK,PMI2_RANK", "/bin/echo", "x"}, environment);
    BOOST_TEST(absent.exit_code == 1);
    BOOST_TEST(absent.err.find("HOROVOD_RANK,PMI2_RANK") != std::string::npos);
    environment.set("PMI_RANK", "five");
    BOOST_TEST(wrap({"PMI_RANK", "/bin/echo", "x"}, environment).exit_code == 2);
}

BOOST_AUTO_TEST_CASE(a_long_line_is_cut_into_pieces_that_are_all_labelled) {
    auto const output = wrap_shell("0", "head -c 20000 /dev/zero | tr '\\0' x");
    std::vector<std::size_t> sizes;
    for (auto const line : split_lines(output.out)) {
        BOOST_TEST(line.starts_with("[rank=0] "));
        sizes.push_back(line.size() - 9);
    }
    BOOST_TEST(sizes == (std::vector<std::size_t>{8191, 8191, 3618}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(ranks_are_numbers_and_empty_lines_are_lines) {
    BOOST_TEST(wrap_shell("007", "echo x").out == "[rank=7] x\n");
    BOOST_TEST(wrap_shell("0", "echo").out == "[rank=0] \n");
}

BOOST_AUTO_TEST_CASE(bytes_pass_unchanged_in_any_encoding) {
    auto const output = wrap_shell("0", "printf '\\377\\001\\303\\n'");
    BOOST_TEST(output.out == "[rank=0] \xff\1\xc3\n");
}

BOOST_AUTO_TEST_CASE(data_that_are_not_text_get_no_label) {
    auto const output = wrap_shell("0", "printf 'P\\000\\n\\n'; echo text >&2");
    BOOST_TEST(output.out == std::string("P\0\n\n", 4));
    BOOST_TEST(output.err == "[rank=0] text\n");
}

BOOST_AUTO_TEST_CASE(what_precedes_the_first_null_byte_in_its_line_gets_no_label_either) {
    // The fifo keeps the two writes apart: the wrapper has read the first part before the second is written.
    auto const output = wrap_shell("0", "echo first; head -c 70000 /dev/zero");
    BOOST_TEST(output.out.ends_with(std::string(70'000, '\0')));
    BOOST_TEST((output.out.starts_with("[rank=0] first\n\0") || output.out.starts_with("first\n\0")));
}

BOOST_AUTO_TEST_CASE(a_stream_without_labels_is_labelled_in_the_log) {
    TemporaryDirectory directory;
    auto environment = Environment::of_this_process();
    environment.set("DET_LABELS", "stderr");
    environment.set("DET_RANK_LOG", directory / "node-0.log");
    auto const output =
        wrap({"2", "/bin/sh", "-c", "echo one; echo two >&2; echo ${DET_LABELS-none}"}, environment);
    BOOST_TEST(output.out == "one\nnone\n");
    BOOST_TEST(output.err == "[rank=2] two\n");
    auto const log = must(read_file(directory / "node-0.log"));
    for (auto const line : split_lines(log)) BOOST_TEST(line.substr(27).starts_with(" [rank=2] "), line);
    BOOST_TEST(split_lines(log).size() == 3u);
}

BOOST_AUTO_TEST_CASE(a_signal_that_ended_the_command_ends_the_wrapper) {
    BOOST_TEST(wrap_shell("0", "echo last words; kill -9 $$").exit_code == 128 + SIGKILL);
    BOOST_TEST(wrap_shell("0", "kill -TERM $$").exit_code == 128 + SIGTERM);
}

BOOST_AUTO_TEST_CASE(what_was_written_before_a_kill_is_not_lost) {
    auto const output = wrap_shell("0", "seq 1 20000; kill -9 $$");
    BOOST_TEST(split_lines(output.out).size() == 20000u);
    BOOST_TEST(output.out.ends_with("[rank=0] 20000\n"));
}

BOOST_AUTO_TEST_CASE(a_child_left_behind_is_not_waited_for) {
    auto const before = std::chrono::steady_clock::now();
    auto const output = wrap_shell("0", "sleep 30 & echo done");
    BOOST_TEST(output.out == "[rank=0] done\n");
    BOOST_TEST((std::chrono::steady_clock::now() - before < std::chrono::seconds(15)));
}

BOOST_AUTO_TEST_CASE(output_of_a_child_left_behind_is_read_for_a_moment) {
    BOOST_TEST(wrap_shell("0", "(while kill -0 $$ 2>/dev/null; do :; done; echo late) & echo done").out ==
               "[rank=0] done\n[rank=0] late\n");
}

BOOST_AUTO_TEST_CASE(signals_are_forwarded_outside_of_a_run) {
    auto const output =
        wrap_shell("0", "trap 'echo got it; exit 3' TERM; kill -TERM $PPID; while :; do sleep 0.01; done");
    BOOST_TEST(output.out == "[rank=0] got it\n");
    BOOST_TEST(output.exit_code == 3);
}

BOOST_AUTO_TEST_CASE(a_missing_command_is_named) {
    auto const output = wrap({"0", "/no/such/command"});
    BOOST_TEST(output.exit_code == 127);
    BOOST_TEST(output.err.find("'/no/such/command'") != std::string::npos);
    BOOST_TEST(wrap({}).exit_code == 2);
    BOOST_TEST(wrap({"0"}).exit_code == 2);
    BOOST_TEST(wrap({"0", "--"}).exit_code == 2);
    BOOST_TEST(wrap({"0", "--", "/bin/echo", "x"}).out == "[rank=0] x\n");
    BOOST_TEST(wrap({"--help"}).out.starts_with("det-wrap-rank: "));
}

BOOST_AUTO_TEST_CASE(with_a_log_the_lines_are_kept_with_their_time) {
    TemporaryDirectory directory;
    auto environment = Environment::of_this_process();
    environment.set("DET_RANK_LOG", directory / "node-0.log");
    wrap({"2", "/bin/sh", "-c", "echo one; echo two >&2"}, environment);
    auto const log = must(read_file(directory / "node-0.log"));
    auto const lines = split_lines(log);
    BOOST_REQUIRE(lines.size() == 2u);
    BOOST_TEST(lines[0].substr(27) == " [rank=2] one");
    BOOST_TEST(parse_utc(lines[0].substr(0, 27)).has_value(), lines[0]);
    BOOST_TEST(lines[1].ends_with(" [rank=2] two"));
}

BOOST_AUTO_TEST_CASE(the_splitter_gives_the_same_lines_however_the_stream_arrives) {
    std::string const text = "one\ntwo\rthree\r\n" + std::string(9000, 'x') + "\nlast";
    auto const lines_of = [&](std::size_t step) {
        std::vector<std::string> lines;
        launch::wrap_rank::LineSplitter splitter;
        auto const sink = [&](std::string_view line, launch::wrap_rank::LineEnd) {
            lines.emplace_back(line);
        };
        for (std::size_t at = 0; at < text.size(); at += step)
            splitter.feed(std::string_view(text).substr(at, step), sink);
        splitter.finish(sink);
        return lines;
    };
    auto const whole = lines_of(text.size());
    BOOST_TEST(whole.size() == 7u);  // "\r\n" makes an empty line
    for (std::size_t const step : {1u, 2u, 3u, 7u, 8191u, 8192u})
        BOOST_TEST(lines_of(step) == whole, "step " << step);
}

BOOST_AUTO_TEST_SUITE_END()
