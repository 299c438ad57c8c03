// Tests the program det-tracker as a user runs it: its start, its files, its end.
#include <det/foundation/files.hpp>
#include <det/foundation/process.hpp>
#include <det/foundation/spawn.hpp>
#include <det/protocol/json.hpp>
#include <det/tracker/client/find_or_start_tracker.hpp>
#include <det/tracker/index/tables.hpp>

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include "check_result.hpp"
#include "ingest/example_root.hpp"
#include "temporary_directory.hpp"
#include "test_paths.hpp"

using namespace det;
using namespace det::tracker;
using namespace std::chrono_literals;

namespace det_tracker_test {

using SteadyClock = std::chrono::steady_clock;

/// A root and a runtime directory. The destructor stops a tracker that still runs.
struct Fixture {
    Fixture() {
        environment.set("DET_ROOT", (directory / "root").string());
        environment.set("XDG_RUNTIME_DIR", directory.path().string());
        environment.set("DET_INDEX_DIR", (directory / "index").string());
        environment.unset("DET_SITE");
        environment.set("DET_CACHE", (directory / "cache").string());
        must(make_directory(root.path()));
    }
    ~Fixture() { (void)run({"stop"}); }

    ProcessOutput run(std::vector<std::string> words) {
        words.insert(words.begin(), program.string());
        return must(runner.run({std::move(words), environment, 60s}));
    }
    Json status() { return parse_json(run({"status", "--json"}).out); }
    client::TrackerPaths paths() { return must(client::make_tracker_paths(environment, root)); }
    /// Waits until no tracker holds the lock.
    bool ends() {
        auto const deadline = SteadyClock::now() + 30s;
        while (SteadyClock::now() < deadline) {
            if (must(client::TrackerLock::try_take(paths()))) return true;
            std::this_thread::sleep_for(5ms);
        }
        return false;
    }

    TemporaryDirectory directory;
    std::filesystem::path program = test::built_path("bin/det-tracker");
    RootLayout root{directory / "root"};
    Environment environment = Environment::of_this_process();
    SystemProcessRunner runner;
};

}  // namespace det_tracker_test

BOOST_FIXTURE_TEST_SUITE(det_tracker_test, Fixture)

BOOST_AUTO_TEST_CASE(a_tracker_is_started_asked_and_stopped) {
    BOOST_TEST(run({"status"}).exit_code == 1);
    BOOST_TEST(status()["running"] == false);
    auto const started = run({"start", "--json"});
    BOOST_REQUIRE_MESSAGE(started.exit_code == 0, started.err);
    BOOST_TEST(parse_json(started.out)["started"] == true);
    BOOST_TEST(parse_json(run({"start", "--json"}).out)["started"] == false);
    auto const shown = status();
    BOOST_TEST(shown["running"] == true);
    BOOST_TEST(shown["root"] == root.path().string());
    BOOST_TEST(shown["socket"] == paths().socket().string());
    BOOST_TEST(shown["port"].is_null());
    auto const second = run({"serve"});
    BOOST_TEST(second.exit_code == 1);
    BOOST_TEST(second.err.find("runs on this host already") != std::string::npos, second.err);
    BOOST_TEST(parse_json(run({"stop", "--json"}).out)["stopped"] == true);
    BOOST_TEST(parse_json(run({"stop", "--json"}).out)["stopped"] == false);
    BOOST_TEST(!path_exists(paths().socket()));
    BOOST_TEST(!path_exists(paths().state()));
}

BOOST_AUTO_TEST_CASE(a_port_needs_the_token_of_the_state_file) {
    BOOST_REQUIRE(run({"start", "--port", "0"}).exit_code == 0);
    struct stat found {};
    BOOST_REQUIRE(::stat(paths().state().c_str(), &found) == 0);
    BOOST_TEST((found.st_mode & 0777) == 0600u);
    auto const state = must(client::find_state(paths())).value();
    BOOST_TEST(status()["port"] == state.port);
    BOOST_TEST(state.token.size() >= 64u);
    auto const owner = http::Client::make(http::LoopbackEndpoint{state.port, state.token});
    BOOST_TEST(must(owner->get("/v1/tracker")).find("version") != std::string::npos);
    auto const stranger = http::Client::make(http::LoopbackEndpoint{state.port, ""});
    BOOST_TEST(must_fail(stranger->get("/v1/tracker")).code.name == codes::unauthorized.name);
}

BOOST_AUTO_TEST_CASE(commands_start_a_tracker_when_they_need_one) {
    auto const first =
        must(client::find_or_start_tracker(environment, root, {test::built_path("bin/det-submit")}, runner));
    auto const second =
        must(client::find_or_start_tracker(environment, root, {test::built_path("bin/det-submit")}, runner));
    BOOST_TEST(parse_json(must(first->get("/v1/tracker")))["pid"] ==
               parse_json(must(second->get("/v1/tracker")))["pid"]);
}

BOOST_AUTO_TEST_CASE(several_commands_at_the_same_time_start_one_tracker) {
    std::vector<Command> commands(4, Command{{program.string(), "start"}, environment, 60s});
    for (auto const& output : runner.run_all(commands)) BOOST_TEST(must(output).exit_code == 0);
    BOOST_TEST(status()["running"] == true);
}

BOOST_AUTO_TEST_CASE(a_tracker_that_is_not_used_ends) {
    BOOST_REQUIRE(run({"start", "--idle-limit", "50ms"}).exit_code == 0);
    BOOST_TEST(ends());
    BOOST_TEST(!path_exists(paths().state()));
}

BOOST_AUTO_TEST_CASE(a_killed_tracker_is_replaced) {
    BOOST_REQUIRE(run({"start"}).exit_code == 0);
    auto const killed = must(client::find_state(paths())).value();
    BOOST_REQUIRE(::kill(killed.pid, SIGKILL) == 0);
    BOOST_REQUIRE(ends());
    BOOST_TEST(run({"status"}).exit_code == 1);
    BOOST_REQUIRE(run({"start"}).exit_code == 0);
    BOOST_TEST(must(client::find_state(paths())).value().pid != killed.pid);
}

BOOST_AUTO_TEST_CASE(a_tracker_that_cannot_start_says_why) {
    must(remove_tree(root.path()));
    must(make_directory(root.path(), 0777));
    ::chmod(root.path().c_str(), 0777);
    auto const started = run({"start"});
    BOOST_TEST(started.exit_code != 0);
    BOOST_TEST(started.err.find(root.path().string()) != std::string::npos, started.err);
    ::chmod(root.path().c_str(), 0700);
    BOOST_TEST(run({"serve", "--idle-limit", "soon"}).exit_code == 2);
    BOOST_TEST(run({"serve", "--port", "65536"}).exit_code == 2);
    BOOST_TEST(run({"sarve"}).err.find("use 'det-submit tracker serve'") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(directories_that_others_can_enter_are_not_used) {
    ::chmod(directory.path().c_str(), 0755);
    BOOST_TEST(paths().directory != directory / "det");
    ::chmod(directory.path().c_str(), 0700);
    BOOST_TEST(paths().directory == directory / "det");
    ::chmod((directory / "det").c_str(), 0755);
    BOOST_TEST(must_fail(client::make_tracker_paths(environment, root)).code.name ==
               codes::unsafe_owner.name);
    ::chmod((directory / "det").c_str(), 0700);
    auto const state = client::TrackerState{1, "host", "/root", 8080, "token"};
    auto const copy = must(client::parse_state(client::render_state(state)));
    BOOST_TEST(copy.port == 8080);
    BOOST_TEST(copy.token == "token");
    BOOST_TEST(!client::parse_state("{}").has_value());
    BOOST_TEST(!client::parse_state("\xff").has_value());
}

BOOST_AUTO_TEST_CASE(the_page_is_for_anyone_and_its_data_for_the_owner) {
    BOOST_REQUIRE(run({"start", "--port", "0", "--host-name", "portal.example"}).exit_code == 0);
    auto const state = must(client::find_state(paths())).value();
    auto const stranger = http::Client::make(http::LoopbackEndpoint{state.port, ""});
    auto const page = must(stranger->send({"GET", "/"}));
    BOOST_TEST(page.status == 200);
    BOOST_TEST(page.body.find("<title>det-tracker</title>") != std::string::npos);
    BOOST_TEST(must(stranger->send({"GET", "/v1/experiments"})).status == 401);
    BOOST_TEST(must(stranger->send({"GET", "/", {{"Host", "portal.example"}}})).status == 200);
    BOOST_TEST(must(stranger->send({"GET", "/", {{"Host", "evil.example"}}})).status == 403);
}

BOOST_AUTO_TEST_CASE(det_submit_web_starts_a_tracker_and_says_where_its_page_is) {
    auto const web = [&](std::vector<std::string> words) {
        words.insert(words.begin(), {test::built_path("bin/det-submit"), "web", "--no-browser"});
        return must(runner.run({std::move(words), environment, 60s}));
    };
    auto const first = web({"--json", "--laptop-port", "9000"});
    BOOST_REQUIRE_MESSAGE(first.exit_code == 0, first.err);
    auto const shown = parse_json(first.out);
    auto const state = must(client::find_state(paths())).value();
    BOOST_TEST(state.port != 0);
    BOOST_TEST(shown["address"] ==
               "http://localhost:" + std::to_string(state.port) + "/#token=" + state.token);
    BOOST_TEST(shown["socket"] == paths().socket().string());
    BOOST_TEST(shown["browser"] == false);
    // Through the tracker's port, which asks for the token: other users can connect to the laptop's port.
    BOOST_TEST(shown["address_through_ssh"] == "http://localhost:9000/#token=" + state.token);
    BOOST_TEST(shown["ssh"] ==
               "ssh -N -L 127.0.0.1:9000:127.0.0.1:" + std::to_string(state.port) + " " + state.host);
    BOOST_TEST(parse_json(web({"--json"}).out)["address"] == shown["address"]);  // the same tracker
    BOOST_REQUIRE(run({"stop"}).exit_code == 0);
    BOOST_REQUIRE(run({"start"}).exit_code == 0);
    auto const without_port = web({});
    BOOST_TEST(without_port.exit_code == 0);
    BOOST_TEST(without_port.err.find("det-tracker stop") != std::string::npos, without_port.err);
    BOOST_TEST(
        without_port.out.find("ssh -N -L 127.0.0.1:8080:" + paths().socket().string()) != std::string::npos,
        without_port.out);
    BOOST_TEST(without_port.err.find("every user of the computer with the browser") != std::string::npos);
    BOOST_TEST(web({"--port", "65536"}).exit_code == 2);
}

BOOST_AUTO_TEST_CASE(det_submit_web_starts_another_tracker_after_one_was_killed) {
    auto const web = [&] {
        return must(runner.run(
            {{test::built_path("bin/det-submit"), "web", "--no-browser", "--json"}, environment, 60s}));
    };
    auto const first = web();
    BOOST_REQUIRE_MESSAGE(first.exit_code == 0, first.err);
    auto const killed = must(client::find_state(paths())).value();
    BOOST_REQUIRE(::kill(killed.pid, SIGKILL) == 0);
    auto const second = web();  // the files of the first one are still there
    BOOST_REQUIRE_MESSAGE(second.exit_code == 0, second.err);
    auto const state = must(client::find_state(paths())).value();
    BOOST_TEST(state.pid != killed.pid);
    BOOST_TEST(parse_json(second.out)["address"] ==
               "http://localhost:" + std::to_string(state.port) + "/#token=" + state.token);
    BOOST_TEST(state.token != killed.token);
}

BOOST_AUTO_TEST_CASE(a_browser_is_opened_by_a_file_that_only_its_user_reads) {
    auto const programs = directory / "programs";
    must(make_directory(programs));
    auto const note = directory / "opened";
    must(write_file(programs / "xdg-open", "#!/bin/sh\necho \"$1\" > '" + note.string() + "'\n", 0755));
    auto with_screen = environment;
    with_screen.set("PATH", programs.string() + ":/usr/bin:/bin");
    with_screen.set("DISPLAY", ":0");
    with_screen.unset("SSH_CONNECTION");
    auto const output =
        must(runner.run({{test::built_path("bin/det-submit"), "web", "--json"}, with_screen, 60s}));
    BOOST_REQUIRE_MESSAGE(output.exit_code == 0, output.err);
    auto const shown = parse_json(output.out);
    BOOST_TEST(shown["browser"] == true);
    auto const entry = paths().entry_page();
    struct stat found {};
    BOOST_REQUIRE(::stat(entry.c_str(), &found) == 0);
    BOOST_TEST((found.st_mode & 0777) == 0600u);
    BOOST_TEST(must(read_file(entry)).find(shown["address"].get<std::string>()) != std::string::npos);
    auto const deadline = SteadyClock::now() + 30s;
    while (!path_exists(note) && SteadyClock::now() < deadline) std::this_thread::sleep_for(5ms);
    // The file is written after it is made.
    while (must(read_file(note)).empty() && SteadyClock::now() < deadline) std::this_thread::sleep_for(5ms);
    BOOST_TEST(must(read_file(note)) == entry.string() + "\n");
}

BOOST_AUTO_TEST_CASE(the_page_of_an_experiment_is_exported_as_one_file) {
    ExampleRoot example(root.path());
    example.create(1, 2);
    for (int step = 0; step < 40; ++step) example.step({{1}, static_cast<std::uint32_t>(step % 2)});
    auto const export_page = [&](std::string const& id, std::filesystem::path const& file) {
        return must(runner.run({{test::built_path("bin/det-submit"), "experiment", "export", id, "--html",
                                 file.string(), "--json"},
                                environment,
                                60s}));
    };
    auto const file = directory / "page.html";
    auto const done = export_page("1", file);
    BOOST_REQUIRE_MESSAGE(done.exit_code == 0, done.err);
    auto const html = must(read_file(file));
    BOOST_TEST(parse_json(done.out)["size_bytes"] == html.size());
    auto const begin = html.find("id=\"snapshot\">") + std::string("id=\"snapshot\">").size();
    auto const data = parse_json(html.substr(begin, html.find("</script>", begin) - begin));
    BOOST_TEST(data["experiment"] == 1);
    auto const& answers = data["answers"];
    for (auto const* address :
         {"experiments/1", "experiments/1/trials", "experiments/1/metrics", "experiments/1/report",
          "trials/1.0", "trials/1.1", "experiments/1/series?group=validation&metric=loss&axis=steps",
          "experiments/1/series?group=validation&metric=loss&axis=time"})
        BOOST_TEST(answers.contains(address), address);
    BOOST_TEST(export_page("9", file).exit_code == 4);
    BOOST_TEST(export_page("x", file).exit_code == 4);
    BOOST_TEST(export_page("1", directory / "absent" / "page.html").exit_code == 4);
    BOOST_TEST(must(read_file(file)) == html);
    BOOST_TEST(status()["running"] == false);  // no tracker was started

    BOOST_REQUIRE(run({"start"}).exit_code == 0);
    BOOST_TEST(export_page("1", file).exit_code == 0);
    auto const of_tracker = must(read_file(file));
    auto const answers_of_tracker =
        parse_json(of_tracker.substr(begin, of_tracker.find("</script>", begin) - begin))["answers"];
    BOOST_TEST(answers_of_tracker == answers);
}

BOOST_AUTO_TEST_CASE(any_name_of_a_metric_is_exported_as_a_page) {
    ExampleRoot example(root.path());
    example.create(1, 1);
    example.step({{1}, 0});
    std::string const name("lo\x01ss\n\x1b[2J<b>&%", 15);
    example.run_of({{1}, 0}).append(MetricsReported{UtcTime{7}, "a\tgroup", 1, Json{{name, 0.5}}});
    auto const file = directory / "page.html";
    auto const done = must(runner.run(
        {{test::built_path("bin/det-submit"), "experiment", "export", "1", "--html", file.string()},
         environment,
         60s}));
    BOOST_REQUIRE_MESSAGE(done.exit_code == 0, done.err);
    auto const html = must(read_file(file));
    auto const begin = html.find("id=\"snapshot\">") + std::string("id=\"snapshot\">").size();
    auto const answers = parse_json(html.substr(begin, html.find("</script>", begin) - begin))["answers"];
    auto const address =
        "experiments/1/series?group=a%09group&metric=" + http::percent_encode(name) + "&axis=";
    for (auto const* axis : {"steps", "time"}) {
        BOOST_REQUIRE(answers.contains(address + axis));
        BOOST_TEST(answers[address + axis]["trials"][0]["values"] == Json::array({0.5}));
    }
}

BOOST_AUTO_TEST_CASE(every_command_has_a_page) {
    for (auto const* name : {"serve", "start", "status", "stop"}) {
        auto const page = run({name, "--help"});
        BOOST_TEST(page.exit_code == 0);
        BOOST_TEST(page.out.starts_with("# det-submit tracker " + std::string(name)), page.out);
        BOOST_TEST(run({"--help"}).out.find(name) != std::string::npos);
    }
}

BOOST_AUTO_TEST_CASE(an_index_is_rebuilt_and_checked) {
    ExampleRoot example(root.path());
    example.create(1, 1);
    for (int step = 0; step < 20; ++step) example.step({{1}, 0});
    BOOST_TEST(run({"rebuild"}).exit_code == 0);
    auto const checked = run({"check"});
    BOOST_TEST(checked.exit_code == 0, checked.err);
    BOOST_TEST(checked.out == "1 experiment: the index has what the journals have\n");
    auto index = must(index::open_index(paths().index(), root.path(), index::Access::write));
    must(index.run("UPDATE trials SET best_value = 77, best_steps = 1"));
    auto const differs = run({"check", "--json"});
    BOOST_TEST(differs.exit_code == 1);
    BOOST_TEST(parse_json(differs.out)["different"] == Json::array({1}));
    BOOST_TEST(run({"rebuild"}).exit_code == 0);
    BOOST_TEST(run({"check"}).exit_code == 0);
}

BOOST_AUTO_TEST_CASE(the_index_belongs_to_the_tracker_that_runs) {
    BOOST_REQUIRE(run({"start"}).exit_code == 0);
    for (auto const* const command : {"rebuild", "check"}) {
        auto const refused = run({command});
        BOOST_TEST(refused.exit_code == 1);
        BOOST_TEST(refused.err.find("det-tracker stop") != std::string::npos, refused.err);
    }
}

BOOST_AUTO_TEST_CASE(an_export_has_what_is_in_the_journals_with_and_without_a_tracker) {
    ExampleRoot example(root.path());
    example.create(1, 2);
    for (int step = 0; step < 40; ++step) example.step({{1}, static_cast<std::uint32_t>(step % 2)});
    for (auto const* const format : {"csv", "jsonl"}) {
        auto const alone = run({"export", "1", "--format", format, "--all-runs"});
        BOOST_TEST(alone.exit_code == 0, alone.err);
        BOOST_TEST(alone.out.find("validation") != std::string::npos);
        BOOST_REQUIRE(run({"start"}).exit_code == 0);
        BOOST_TEST(run({"export", "1.0", "1.1", "--format", format, "--all-runs"}).out == alone.out);
        BOOST_REQUIRE(run({"stop"}).exit_code == 0);
        auto const file = (directory / "file").string();
        BOOST_TEST(run({"export", "1", "--format", format, "--all-runs", "--output", file}).out == "");
        BOOST_TEST(must(read_file(file)) == alone.out);
    }
    auto const events = (directory / "events").string();
    BOOST_TEST(run({"export", "1", "--format", "tensorboard"}).exit_code == 2);
    BOOST_TEST(run({"export", "1", "--format", "tensorboard", "--output", events}).exit_code == 0);
    BOOST_TEST(path_exists(directory / "events" / "1.0" / "events.out.tfevents.000000.det"));
    BOOST_TEST(run({"export", "9"}).exit_code == 4);
    BOOST_TEST(run({"export", "1", "--json"}).exit_code == 2);
}

BOOST_AUTO_TEST_CASE(an_export_is_up_to_date_while_another_process_holds_the_index) {
    ExampleRoot example(root.path());
    example.create(1, 1);
    for (int step = 0; step < 10; ++step) example.step({{1}, 0});
    BOOST_REQUIRE(run({"rebuild"}).exit_code == 0);
    auto const old = run({"export", "1"}).out;
    for (int step = 0; step < 10; ++step) example.step({{1}, 0});
    example.create(2, 1);
    for (int step = 0; step < 10; ++step) example.step({{2}, 0});
    ProcessOutput held, second, absent;
    {
        auto const lock = must(client::TrackerLock::try_take(paths()));
        BOOST_REQUIRE(lock.has_value());
        held = run({"export", "1"});
        second = run({"export", "2"});
        absent = run({"export", "9"});
    }
    BOOST_TEST(held.exit_code == 0, held.err);
    BOOST_TEST(held.out != old);
    BOOST_TEST(held.out == run({"export", "1"}).out);
    BOOST_TEST(second.exit_code == 0, second.err);
    BOOST_TEST(second.out == run({"export", "2"}).out);
    BOOST_TEST(absent.exit_code == 4);
}

BOOST_AUTO_TEST_CASE(an_export_is_up_to_date_while_a_tracker_hangs) {
    ExampleRoot example(root.path());
    example.create(1, 1);
    for (int step = 0; step < 10; ++step) example.step({{1}, 0});
    BOOST_REQUIRE(run({"start"}).exit_code == 0);
    auto const old = run({"export", "1"}).out;
    auto const tracker = must(client::find_state(paths())).value();
    for (int step = 0; step < 10; ++step) example.step({{1}, 0});
    BOOST_REQUIRE(::kill(tracker.pid, SIGSTOP) == 0);
    auto const exported = run({"export", "1"});
    BOOST_REQUIRE(::kill(tracker.pid, SIGCONT) == 0);
    BOOST_TEST(exported.exit_code == 0, exported.err);
    BOOST_TEST(exported.out != old);
    BOOST_TEST(exported.out == run({"export", "1"}).out);
}

BOOST_AUTO_TEST_SUITE_END()
