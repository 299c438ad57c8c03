#include <det/protocol/json.hpp>

#include <boost/test/unit_test.hpp>
#include <unistd.h>

#include "cli_support.hpp"
#include "golden.hpp"
#include "in_terminal.hpp"
#include "job/watch.hpp"
#include "local_time_zone.hpp"
#include "output/table.hpp"

using namespace det;
using namespace det::cli;
using namespace det::experiment;
using slurm::JobState;

namespace job_watch_test {

slurm::JobStatus job(std::uint32_t number, JobState state, std::string user, std::string pool) {
    slurm::JobStatus job;
    job.ref = {number, {}};
    job.state = state;
    job.state_text = state == JobState::running ? "RUNNING" : "PENDING";
    job.reason = state == JobState::running ? "None" : "Priority";
    job.priority = 1000 - number;
    job.nodes = 2;
    job.tres_per_node = "gres:gpu:4";
    job.user = std::move(user);
    job.partition = std::move(pool);
    job.name = "job-" + std::to_string(number);
    return job;
}

WatchView small_view() {
    WatchView view;
    view.owner = {"me", "abc"};
    view.snapshot.queue.jobs = {job(1, JobState::running, "me", "compute"),
                                job(2, JobState::pending, "you", "cpu"),
                                job(3, JobState::pending, "me", "compute")};
    view.snapshot.queue.jobs[0].comment = "det:abc/7";
    view.snapshot.queue.jobs[1].name = "evil\x1b[2J\n\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2\xe5\xad\x97 end";
    view.read_at = UtcTime{1'795'262'400'000'000};
    view.selected = slurm::JobRef{3, {}};
    return view;
}

std::string text_of(std::vector<std::string> const& lines) {
    std::string text;
    for (auto line : lines) {
        text += escape_control(line);
        text += "\n";
    }
    return text;
}

std::string ids_of(WatchView const& view) {
    std::string text;
    for (auto const& each : shown_jobs(view)) text += to_string(each.ref) + " ";
    return text;
}

constexpr ScreenSize usual{8, 100};

}  // namespace job_watch_test

BOOST_AUTO_TEST_SUITE(job_watch_test)

BOOST_AUTO_TEST_CASE(the_screen_shows_the_queue_and_the_selected_job) {
    LocalTimeZone const two_hours_east("XYZ-2");
    check_golden("cli/job_watch.txt", text_of(render_screen(small_view(), usual)));
    auto view = small_view();
    view.shows_help = true;
    check_golden("cli/job_watch_help.txt", text_of(render_screen(view, {14, 60})));
}

BOOST_AUTO_TEST_CASE(the_priority_is_the_level_that_job_list_shows_and_no_number_near_2_to_the_32) {
    auto view = small_view();
    view.priority_kind = queue::PriorityKind::basic;
    auto& jobs = view.snapshot.queue.jobs;
    for (auto& each : jobs) each.priority = 4'294'901'685;  // as priority/basic counts down
    jobs[2].nice = queue::nice_of_level(60);
    auto const text = text_of(render_screen(view, usual));
    BOOST_TEST(!contains(text, "4294"), text);
    BOOST_TEST(contains(text, " 8/8      42 "), text);
    BOOST_TEST(contains(text, " 0/8      60 "), text);
}

BOOST_AUTO_TEST_CASE(every_line_fits_the_screen_without_control_bytes) {
    for (std::size_t columns : {std::size_t{1}, std::size_t{20}, std::size_t{33}, std::size_t{200}}) {
        for (std::size_t rows : {std::size_t{1}, std::size_t{3}, std::size_t{30}}) {
            auto view = small_view();
            view.message = "bad\x1b]0;x\x07 news";
            auto const lines = render_screen(view, {rows, columns});
            BOOST_TEST(lines.size() == rows);
            for (auto line : lines) {
                for (auto const* style : {"\x1b[7m", "\x1b[1m", "\x1b[0m"}) {
                    if (auto const at = line.find(style); at != std::string::npos) line.erase(at, 4);
                }
                BOOST_TEST(display_width(line) == columns);
                BOOST_TEST(escape_control(line) == line);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(wide_characters_are_cut_between_them) {
    BOOST_TEST(fit_to_width("\xe6\xbc\xa2\xe5\xad\x97", 3) == "\xe6\xbc\xa2 ");
    BOOST_TEST(display_width("\xe6\xbc\xa2\xe5\xad\x97") == 4u);
    BOOST_TEST(display_width("e\xcc\x81") == 1u);
    BOOST_TEST(fit_to_width("abc", 5) == "abc  ");
    BOOST_TEST(fit_to_width("abc", 0) == "");
}

BOOST_AUTO_TEST_CASE(keys_select_and_filter) {
    auto view = small_view();
    auto const press = [&](std::string typed) {
        Action last;
        for (auto const key : take_keys(typed)) last = on_key(view, key, usual);
        BOOST_TEST(typed == "");
        return last;
    };
    press("k");
    BOOST_TEST((view.selected == slurm::JobRef{2, {}}));
    press("\x1b[A\x1b[A\x1b[A");
    BOOST_TEST((view.selected == slurm::JobRef{1, {}}));
    auto const logs = press("\r");
    BOOST_TEST(std::get<FollowLogs>(logs).experiment == 7u);
    press("G");
    BOOST_TEST((view.selected == slurm::JobRef{3, {}}));
    BOOST_TEST((std::holds_alternative<Nothing>(press("l"))));
    BOOST_TEST(view.message == "there are logs of your own experiments only");
    press("p");
    BOOST_TEST(ids_of(view) == "1 3 ");
    press("p");
    BOOST_TEST(ids_of(view) == "2 ");
    BOOST_TEST((view.selected == slurm::JobRef{2, {}}));
    press("pu");
    BOOST_TEST(ids_of(view) == "1 3 ");
    press("uu");
    BOOST_TEST(ids_of(view) == "1 2 3 ");
    press("?");
    BOOST_TEST(view.shows_help);
    press("x");
    BOOST_TEST(!view.shows_help);
    BOOST_TEST((std::holds_alternative<Quit>(press("q"))));
}

BOOST_AUTO_TEST_CASE(an_incomplete_key_sequence_waits_for_its_rest) {
    std::string typed = "\x1b[";
    BOOST_TEST(take_keys(typed).empty());
    typed += "B";
    BOOST_TEST((take_keys(typed) == std::vector{Key::down}));
    typed = "\x1bzj";
    BOOST_TEST((take_keys(typed) == std::vector{Key::other, Key::other, Key::down}));
}

BOOST_AUTO_TEST_CASE(a_long_queue_scrolls_with_the_selection) {
    WatchView view;
    for (std::uint32_t i = 1; i <= 50; ++i)
        view.snapshot.queue.jobs.push_back(job(i, JobState::pending, "me", "compute"));
    scroll_to_selected(view, usual);
    BOOST_TEST((view.selected == slurm::JobRef{1, {}}));
    std::string keys = "G";
    for (auto const key : take_keys(keys)) on_key(view, key, usual);
    BOOST_TEST(view.top == 45u);
    scroll_to_selected(view, {53, 100});
    BOOST_TEST(view.top == 0u);
    view.snapshot.queue.jobs.clear();
    scroll_to_selected(view, usual);
    BOOST_TEST(!view.selected);
    BOOST_TEST(render_screen(view, usual).size() == usual.rows);
}

/// `job watch` with a fake Slurm.
int play_watch(int terminal_fd) {
    CliFixture fixture;
    fixture.slurm.other_jobs = small_view().snapshot.queue.jobs;
    SystemClock clock;
    std::ostringstream out, err;
    Session session{fixture.environment, out, err, {Colour::never, "det-submit"}, clock, fixture.slurm};
    auto terminal = ScreenTerminal::open(terminal_fd, terminal_fd, "job watch", "");
    if (!terminal) return 99;
    auto view = small_view();
    view.interval_s = 0.2;
    auto const follow = [terminal_fd](std::uint32_t experiment) {
        auto const text = "LOGS OF " + std::to_string(experiment);
        return write_all(terminal_fd, text, "the terminal");
    };
    return to_int(watch_jobs(std::move(view), *terminal, session, follow));
}

BOOST_AUTO_TEST_CASE(job_watch_handles_keys_and_resizes_and_restores_the_terminal) {
    InTerminal terminal(play_watch);
    terminal.expect("\x1b[?1049h");
    terminal.expect("pool: all");
    terminal.type("p");
    terminal.expect("pool: compute");
    terminal.type("g\r");
    terminal.expect("LOGS OF 7");
    terminal.expect("pool: compute");
    terminal.resize(200);
    terminal.expect(std::string(120, ' '));
    terminal.type("q");
    terminal.expect("\x1b[?1049l");
    BOOST_TEST(terminal.wait() == 0);
    BOOST_TEST(terminal.is_as_before());
}

BOOST_AUTO_TEST_CASE(a_signal_ends_job_watch_and_the_terminal_is_restored) {
    for (int const number : {SIGINT, SIGTERM}) {
        InTerminal terminal(play_watch);
        terminal.expect("pool: all");
        terminal.signal(number);
        terminal.expect("\x1b[?1049l");
        BOOST_TEST(terminal.wait() == to_int(ExitCode::interrupted));
        BOOST_TEST(terminal.is_as_before());
    }
}

BOOST_AUTO_TEST_CASE(without_a_terminal_a_full_screen_is_an_error_that_names_the_command) {
    int pipe_fds[2];
    BOOST_REQUIRE(::pipe(pipe_fds) == 0);
    auto const error = must_fail(ScreenTerminal::open(pipe_fds[0], pipe_fds[1], "job watch", "use job list"));
    ::close(pipe_fds[0]);
    ::close(pipe_fds[1]);
    BOOST_TEST((error.code == codes::usage));
    BOOST_TEST(error.message == "'job watch' needs a terminal");
    BOOST_TEST(error.hint == "use job list");
}

BOOST_FIXTURE_TEST_CASE(an_interval_is_not_too_short_and_there_is_no_json, CliFixture) {
    BOOST_TEST(run("job watch --interval 0.5") == to_int(ExitCode::usage));
    BOOST_TEST(run("job watch --json") == to_int(ExitCode::usage));
}

BOOST_AUTO_TEST_SUITE_END()
