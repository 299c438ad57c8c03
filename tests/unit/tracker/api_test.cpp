#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/journal/event_log.hpp>
#include <det/journal/writer.hpp>
#include <det/protocol/json.hpp>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <fstream>
#include <future>
#include <regex>
#include <set>
#include <thread>

#include "fake_clock.hpp"
#include "running_tracker.hpp"
#include "test_paths.hpp"

using namespace det;
using namespace det::tracker;
using namespace std::chrono_literals;

namespace api_test {

using SteadyClock = std::chrono::steady_clock;

/// A tracker of experiment 1 (with reports of two runs and a log) and of experiment 2, which is archived.
struct Fixture : RunningTracker {
    Fixture() {
        create(1, "first");
        auto const archived = create(2, "second");
        must(journal::append_event(archived.events(), {"archived", UtcTime{2}, "me@here", Json::object()}));
        for (std::uint32_t run : {0u, 1u}) begin_run(run);
    }

    ExperimentLayout create(std::uint32_t id, std::string name) const {
        ExperimentLayout const layout(root, {id});
        must(make_directories(layout.events()));
        ExperimentSpec spec;
        spec.id = {id};
        spec.name = std::move(name);
        spec.owner = "me";
        spec.searcher = {"single", "loss", true, Json::object()};
        must(write_file(layout.spec(), render_spec(spec)));
        must(journal::append_event(layout.events(),
                                   {"created", UtcTime{1}, "me@here", Json{{"job_id", "4711"}}}));
        return layout;
    }

    /// Run 0 reports steps 1 to 20, run 1 steps 11 to 30.
    void begin_run(std::uint32_t number) const {
        auto const run = trial().run(number);
        must(make_directories(run.path()));
        auto life = must(journal::JournalWriter::create(run.supervisor_journal()));
        RunStarted started;
        started.hosts = "n[0-1]";
        must(life.append(started));
        must(life.append(RunEnded{UtcTime{99}, Cause::finished, NextAction::stop, 0, "done"}));
        auto chief = must(journal::JournalWriter::create(run.chief_journal()));
        for (std::uint64_t step = 1 + 10 * number; step <= 20 + 10 * number; ++step) {
            Json metrics{{"loss", 100.0 * (number + 1) + static_cast<double>(step)}};
            if (step == 15 && number == 1) metrics["loss"] = "NaN";
            must(chief.append(
                MetricsReported{UtcTime{static_cast<std::int64_t>(1000 * step)}, "training", step, metrics}));
        }
    }

    TrialLayout trial() const { return ExperimentLayout(root, {1}).trial(0); }
    Json get(std::string const& target) const { return parse_json(must(client()->get(target))); }
    int status(std::string const& target) const { return must(client()->send({"GET", target})).status; }
    void write_log(std::uint32_t run, int node, std::string const& text) const {
        std::ofstream(trial().run(run).node_log(node), std::ios::app) << text;
    }
};

std::vector<std::string> messages(Json const& answer) {
    std::vector<std::string> texts;
    for (auto const& line : answer.at("lines")) texts.push_back(line.at("message"));
    return texts;
}

/// A path of the route with ids that exist.
std::string example_path(std::string pattern) {
    for (auto const& [name, value] : std::map<std::string, std::string>{{"{experiment}", "1"},
                                                                        {"{trial}", "1.0"},
                                                                        {"{run}", "0"},
                                                                        {"{node}", "0"},
                                                                        {"{bracket}", "0"},
                                                                        {"{rung}", "0"}}) {
        for (auto at = pattern.find(name); at != std::string::npos; at = pattern.find(name))
            pattern.replace(at, name.size(), value);
    }
    return pattern;
}

using Lines = std::vector<std::string>;

/// The same tracker with actions.
struct ActingFixture : Fixture {
    static api::Sources with_actions(api::Sources sources, Clock& clock) {
        return {sources.history,
                sources.root,
                sources.environment,
                clock,
                sources.slurm,
                {},
                sources.change_number,
                {},
                500ms,
                0ms,
                0ms,
                true};
    }
    FakeClock manual_clock = {};
    api::Api acting{with_actions(sources(), manual_clock)};
    TemporaryDirectory place;
    std::unique_ptr<http::Server> acting_server = serve();

    std::unique_ptr<http::Server> serve() {
        http::ServerSettings settings;
        settings.unix_socket = place / "s";
        settings.access.owner = ::geteuid();
        settings.access.token = "secret";
        return must(http::Server::start(settings, http::RouteTable(acting.routes())));
    }
    http::Response post(std::string const& path, Json const& body, http::Headers headers = token()) const {
        headers.push_back({"Content-Type", "application/json"});
        auto const sender = http::Client::make(http::UnixEndpoint{place / "s"});
        return must(sender->send({"POST", path, std::move(headers), to_line(body)}));
    }
    static http::Headers token() { return {{"Authorization", "Bearer secret"}}; }
    std::string plan(Json const& body) const {
        return parse_json(post("/v1/actions", body).body).at("confirmation").get<std::string>();
    }
    std::size_t events_of(std::string const& kind) const {
        auto const events = must(journal::load_events(ExperimentLayout(root, {1}).events()));
        return static_cast<std::size_t>(
            std::ranges::count_if(events, [&](auto const& event) { return event.kind == kind; }));
    }
};

}  // namespace api_test

BOOST_FIXTURE_TEST_SUITE(api_test, Fixture)

BOOST_AUTO_TEST_CASE(the_page_describes_every_route) {
    std::set<std::string> routes, described;
    auto with_actions = sources();
    with_actions.allows_actions = true;
    api::Api all(std::move(with_actions));
    for (auto const& route : all.routes())
        routes.insert(std::string(http::method_name(route.method)) + " " + route.pattern);
    auto const page = must(read_file(test::source_path("submitter/cli/tracker/api/API.md")));
    for (auto const line : split_lines(page)) {
        if (line.starts_with("### ")) described.emplace(line.substr(4));
    }
    BOOST_TEST(routes == described, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(every_route_is_for_the_owner_and_only_reads) {
    auto const stranger = http::Client::make(http::LoopbackEndpoint{server->port(), ""});
    for (auto const& route : api.routes()) {
        auto const path = example_path(route.pattern);
        BOOST_TEST_CONTEXT(path) {
            BOOST_TEST((route.method == http::Method::get));
            BOOST_TEST((route.auth == http::AuthClass::owner));
            BOOST_TEST(must(stranger->send({"GET", path})).status == 401);
            BOOST_TEST(must(client()->send({"GET", path, {{"Host", "evil.example"}}})).status == 403);
            BOOST_TEST(must(client()->send({"GET", path, {{"Origin", "http://evil.example"}}})).status ==
                       403);
            BOOST_TEST(must(client()->send({"GET", path, {{"Sec-Fetch-Site", "cross-site"}}})).status == 403);
            BOOST_TEST(must(client()->send({"POST", path})).status == 405);
            BOOST_TEST(status(path + "?nonsense=1") == 400);
        }
    }
}

BOOST_AUTO_TEST_CASE(wrong_ids_are_refused_and_absent_ones_not_found) {
    for (auto const& route : api.routes()) {
        if (route.pattern.find("{experiment}") != std::string::npos) {
            auto wrong = std::regex_replace(route.pattern, std::regex(R"(\{experiment\})"), "--all");
            BOOST_TEST(status(example_path(wrong)) == 400, wrong);
        }
        if (route.pattern.find("{trial}") != std::string::npos && !route.pattern.ends_with("series") &&
            !route.pattern.ends_with("best-validation")) {
            auto absent = std::regex_replace(route.pattern, std::regex(R"(\{trial\})"), "77.0");
            BOOST_TEST(status(example_path(absent)) == 404, absent);
        }
    }
}

BOOST_AUTO_TEST_CASE(experiments_are_listed_and_filtered) {
    auto const ids = [&](std::string const& query) {
        std::vector<int> found;
        auto const answer = get("/v1/experiments" + query);
        for (auto const& experiment : answer.at("experiments")) found.push_back(experiment.at("id"));
        return found;
    };
    using Ids = std::vector<int>;
    BOOST_TEST(ids("") == Ids{1});
    BOOST_TEST(ids("?archived=true") == (Ids{2, 1}));
    BOOST_TEST(ids("?archived=true&limit=1") == Ids{2});
    BOOST_TEST(ids("?archived=true&before=2") == Ids{1});
    BOOST_TEST(ids("?state=completed") == Ids{1});
    BOOST_TEST(ids("?state=running").empty());
    slurm.calls.clear();
    BOOST_TEST(ids("?before=2") == Ids{1});
    BOOST_TEST(slurm.calls.empty());  // the states of ended experiments need no queue
    auto const page = get("/v1/experiments?archived=true&limit=1");
    BOOST_TEST(page.at("before") == 2);
    BOOST_TEST(get("/v1/experiments?archived=true&before=2").at("before").is_null());
    BOOST_TEST(get("/v1/experiments").at("experiments")[0].at("trial_count") == 1);
    BOOST_TEST(!get("/v1/experiments").at("experiments")[0].contains("trials"));
    BOOST_TEST(get("/v1/experiments").at("experiments")[0].at("searcher").at("metric") == "loss");
    BOOST_TEST(get("/v1/experiments").at("experiments")[0].at("best").is_null());  // an index has it
    BOOST_TEST(ids("?name=irs") == Ids{1});
    BOOST_TEST(ids("?name=sec").empty());
    BOOST_TEST(ids("?owner=you").empty());
    BOOST_TEST(ids("?label=x").empty());
    BOOST_TEST(status("/v1/experiments?limit=10000") == 200);
    for (auto const* query :
         {"?limit=0", "?limit=10001", "?limit=-1", "?archived=yes", "?before=x", "?state=tired"})
        BOOST_TEST(status(std::string("/v1/experiments") + query) == 400, query);
}

BOOST_AUTO_TEST_CASE(a_list_has_the_states_of_slurms_queue) {
    auto const ids = [&](std::string const& query) {
        std::vector<int> found;
        auto const answer = get("/v1/experiments" + query);
        for (auto const& experiment : answer.at("experiments")) found.push_back(experiment.at("id"));
        return found;
    };
    using Ids = std::vector<int>;
    for (std::uint32_t id = 3; id <= 6; ++id) create(id, "waits");
    must(write_file(create(7, "damaged").spec(), "{}"));
    slurm::JobStatus pending;
    pending.ref = *slurm::parse_job_ref("4711_0");
    pending.state = slurm::JobState::pending;
    slurm.job = pending;
    auto const all = get("/v1/experiments");
    BOOST_TEST(all.at("experiments").size() == 5u);
    BOOST_TEST(all.at("experiments")[0].at("state") == "QUEUED");
    BOOST_TEST(all.at("warnings").get<std::string>().find("reading experiment 7") != std::string::npos);
    BOOST_TEST(slurm.calls.size() == 1u);
    BOOST_TEST(ids("?state=queued") == (Ids{6, 5, 4, 3}));
    BOOST_TEST(ids("?state=queued&limit=2") == (Ids{6, 5}));
    BOOST_TEST(ids("?state=completed&limit=1") == Ids{1});  // found after whole pages of others
    slurm.is_down = true;
    BOOST_TEST(get("/v1/experiments").at("warnings").get<std::string>().find("journals only") !=
               std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_slow_slurm_delays_only_the_requests_that_need_it) {
    create(3, "waits");
    std::promise<void> asked, answered;
    slurm.on_call = [&, first = true](std::string const&) mutable {
        if (!std::exchange(first, false)) return;
        asked.set_value();
        (void)answered.get_future().wait_for(60s);
    };
    // More requests than the server has threads wait for Slurm.
    std::vector<std::future<int>> slow;
    for (auto const* path :
         {"/v1/jobs", "/v1/experiments", "/v1/pools", "/v1/experiments/1", "/v1/trials/1.0"})
        slow.push_back(std::async(std::launch::async, [this, path] { return status(path); }));
    BOOST_REQUIRE((asked.get_future().wait_for(60s) == std::future_status::ready));
    for (auto const* path : {"/v1/tracker", "/v1/changes", "/v1/experiments?state=completed&before=3",
                             "/v1/trials/1.0/metrics", "/v1/trials/1.0/series?group=training&metric=loss",
                             "/v1/trials/1.0/logs", "/v1/trials/1.0/profile", "/v1/experiments/1/metrics"})
        BOOST_TEST(status(path) == 200, path);
    for (auto const& request : slow) BOOST_TEST((request.wait_for(0s) == std::future_status::timeout));
    answered.set_value();
    for (auto& request : slow) BOOST_TEST(request.get() == 200);
}

BOOST_AUTO_TEST_CASE(too_many_requests_for_slurm_are_refused) {
    std::promise<void> asked, answered;
    slurm.on_call = [&, first = true](std::string const&) mutable {
        if (!std::exchange(first, false)) return;
        asked.set_value();
        (void)answered.get_future().wait_for(60s);
    };
    auto first = std::async(std::launch::async, [&] { return status("/v1/jobs"); });
    BOOST_REQUIRE((asked.get_future().wait_for(60s) == std::future_status::ready));
    std::vector<std::future<int>> waiting;
    constexpr int waiting_max = 32, too_many = 5;
    for (int i = 0; i < waiting_max + too_many; ++i)
        waiting.push_back(std::async(std::launch::async, [&, i] {
            return status("/v1/jobs?limit=" + std::to_string(i + 1));  // equal ones share an answer
        }));
    // While Slurm does not answer, only the refused requests get a response.
    int refused = 0;
    for (auto const limit = SteadyClock::now() + 60s; refused < too_many && SteadyClock::now() < limit;) {
        refused = static_cast<int>(std::ranges::count_if(
            waiting, [](auto const& request) { return request.wait_for(1ms) == std::future_status::ready; }));
    }
    answered.set_value();
    int unavailable = 0, good = 0;
    for (auto& request : waiting) {
        auto const got = request.get();
        unavailable += got == 503;
        good += got == 200;
    }
    BOOST_TEST(unavailable == too_many);
    BOOST_TEST(good == waiting_max);
    BOOST_TEST(first.get() == 200);
}

BOOST_AUTO_TEST_CASE(commands_answer_as_with_json) {
    BOOST_TEST(get("/v1/experiments/1").at("answer").at("name") == "first");
    BOOST_TEST(get("/v1/trials/1.0").at("answer").at("name") == "1.0");
    BOOST_TEST(get("/v1/trials/1000000").at("answer").at("name") == "1.0");
    BOOST_TEST(get("/v1/jobs").at("answer").is_array());
    BOOST_TEST(get("/v1/trials/1.0/profile").at("answer").empty());
    // The value of a parameter never becomes an option of a command.
    BOOST_TEST(status("/v1/jobs?user=--help") == 200);
    BOOST_TEST(status("/v1/jobs?limit=x") == 400);
    BOOST_TEST(status("/v1/experiments/9") == 404);
}

BOOST_AUTO_TEST_CASE(a_series_leaves_superseded_reports_out_unless_asked) {
    auto const joined = get("/v1/trials/1.0/series?group=training&metric=loss");
    BOOST_REQUIRE(joined.at("curves").size() == 1u);
    auto const& curve = joined.at("curves")[0];
    BOOST_TEST(curve.at("points") == 30);
    BOOST_TEST(curve.at("steps").size() == 30u);
    BOOST_TEST(curve.at("values")[9] == 110.0);   // step 10, of run 0
    BOOST_TEST(curve.at("values")[10] == 211.0);  // step 11, of run 1
    BOOST_TEST(curve.at("values")[14] == "NaN");
    auto const all = get("/v1/trials/1.0/series?group=training&metric=loss&all_runs=true").at("curves");
    BOOST_REQUIRE(all.size() == 2u);
    BOOST_TEST(all[0].at("run") == 0);
    BOOST_TEST(all[0].at("points") == 20);
    BOOST_TEST(all[1].at("steps")[0] == 11);
    auto const part = get("/v1/trials/1.0/series?group=training&metric=loss&from=5&to=7").at("curves")[0];
    BOOST_TEST(part.at("steps") == (Json{5, 6, 7}));
    auto const times =
        get("/v1/trials/1.0/series?group=training&metric=loss&axis=time&from=5000&to=7000").at("curves")[0];
    BOOST_TEST(times.at("steps") == (Json{5, 6, 7}));
    BOOST_TEST(get("/v1/trials/1.0/series?group=training&metric=absent").at("curves")[0].at("points") == 0);
    BOOST_TEST(
        get("/v1/trials/1.0/series?group=training&metric=loss&width=1").at("curves")[0].at("steps").size() <=
        5u);
    BOOST_TEST(status("/v1/trials/1.0/series?group=training&metric=loss&width=10000") == 200);
    for (auto const* query :
         {"", "?group=training", "?group=g&metric=m&width=0", "?group=g&metric=m&width=10001",
          "?group=g&metric=m&axis=depth", "?group=g&metric=m&from=nan", "?group=g&metric=m&from=1e999"})
        BOOST_TEST(status(std::string("/v1/trials/1.0/series") + query) == 400, query);
    BOOST_TEST(status("/v1/trials/1.1/series?group=g&metric=m") == 404);
}

BOOST_AUTO_TEST_CASE(the_metrics_of_a_trial_are_listed) {
    auto const list = get("/v1/trials/1.0/metrics").at("metrics");
    BOOST_REQUIRE(list.size() == 1u);
    BOOST_TEST(list[0].at("metric") == "loss");
    BOOST_TEST(list[0].at("points") == 30);
    BOOST_TEST(list[0].at("last") == 230.0);
    BOOST_TEST(get("/v1/trials/1.0/metrics?all_runs=true").at("metrics")[0].at("points") == 40);
}

BOOST_AUTO_TEST_CASE(the_curves_of_all_trials_are_one_answer) {
    auto const names = get("/v1/experiments/1/metrics").at("metrics");
    BOOST_TEST(names == (Json{{{"group", "training"}, {"metric", "loss"}}}));
    BOOST_TEST(get("/v1/experiments/1/metrics?trial=1.0").at("metrics") == names);
    BOOST_TEST((get("/v1/experiments/1/metrics").at("searcher") ==
                Json{{"metric", "loss"}, {"smaller_is_better", true}}));
    BOOST_TEST(status("/v1/experiments/1/metrics?trial=1.7") == 404);
    for (auto const* trial : {"2.0", "x", "1"})
        BOOST_TEST(status(std::string("/v1/experiments/1/metrics?trial=") + trial) == 400, trial);
    auto const answer = get("/v1/experiments/1/series?group=training&metric=loss");
    BOOST_TEST(answer.at("metric") == "loss");
    BOOST_REQUIRE(answer.at("trials").size() == 1u);
    auto const& curve = answer.at("trials")[0];
    auto const own = get("/v1/trials/1.0/series?group=training&metric=loss").at("curves")[0];
    BOOST_TEST(curve.at("trial") == "1.0");
    BOOST_TEST(curve.at("points") == own.at("points"));
    BOOST_TEST(curve.at("x") == own.at("steps"));
    BOOST_TEST(curve.at("values") == own.at("values"));  // with a NaN
    auto const times = get("/v1/experiments/1/series?group=training&metric=loss&axis=time&from=5000&to=7000");
    BOOST_TEST(times.at("trials")[0].at("x") == (Json{5000, 6000, 7000}));
    BOOST_TEST(get("/v1/experiments/1/series?group=g&metric=m").at("trials")[0].at("x").empty());
    for (auto const* query : {"", "?group=g", "?group=g&metric=m&width=0", "?group=g&metric=m&all_runs=true"})
        BOOST_TEST(status(std::string("/v1/experiments/1/series") + query) == 400, query);
}

BOOST_AUTO_TEST_CASE(the_configuration_is_sent_as_text) {
    BOOST_TEST(status("/v1/experiments/1/config") == 404);
    must(write_file(ExperimentLayout(root, {1}).config(), "name: first  # exp.yaml:1\n"));
    BOOST_TEST(get("/v1/experiments/1/config").at("text") == "name: first  # exp.yaml:1\n");
}

BOOST_AUTO_TEST_CASE(nodes_have_the_jobs_that_run_on_them) {
    slurm::Node node;
    node.name = "n1";
    node.state = "mixed";
    node.cpus = 8;
    node.cpus_used = 4;
    node.gres = "gpu:4";
    node.gres_used = "gpu:2(IDX:0-1)";
    for (auto const* partition : {"a", "b"}) {
        node.partition = partition;
        slurm.node_list.push_back(node);
    }
    node.name = "n2";
    node.state = "drained";
    node.reason = "fan 2 is broken";
    slurm.node_list.push_back(node);
    slurm::JobStatus running;
    running.ref = *slurm::parse_job_ref("4711_0");
    running.state = slurm::JobState::running;
    running.node_list = "n[1-1]";
    running.user = "someone";
    slurm.job = running;
    auto const nodes = get("/v1/nodes").at("nodes");
    BOOST_REQUIRE(nodes.size() == 2u);
    BOOST_TEST(nodes[0].at("partitions") == (Json{"a", "b"}));
    BOOST_TEST(nodes[0].at("gpus_used") == 2);
    BOOST_TEST(nodes[0].at("jobs").size() == 1u);
    BOOST_TEST(nodes[0].at("jobs")[0].at("id") == "4711_0");
    BOOST_TEST(nodes[0].at("jobs")[0].at("experiment").is_null());  // of another user
    BOOST_TEST(nodes[1].at("jobs").empty());
    BOOST_TEST(nodes[1].at("is_out") == true);
    BOOST_TEST(nodes[0].at("reason") == "");
    BOOST_TEST(nodes[1].at("reason") == "fan 2 is broken");
    slurm.is_down = true;
    BOOST_TEST(status("/v1/nodes") == 503);
}

BOOST_AUTO_TEST_CASE(logs_are_read_backwards_without_gap_or_repetition) {
    Lines expected;
    for (std::uint32_t run : {0u, 1u}) {
        for (int line = 0; line < 25; ++line) {
            auto const name = std::to_string(run) + "." + std::to_string(line);
            write_log(run, line % 3,
                      "2026-11-21T1" + std::to_string(run) + ":00:" + (line < 10 ? "0" : "") +
                          std::to_string(line) + ".000000Z [rank=0] line " + name + "\n");
            expected.push_back("line " + name);
        }
    }
    for (int const first : {1, 4, 24, 40}) {
        auto answer = get("/v1/trials/1.0/logs?tail=" + std::to_string(first));
        auto all = messages(answer);
        BOOST_TEST(all.size() == static_cast<std::size_t>(first));
        for (int piece = 0; piece < 60; ++piece) {
            auto const before = answer.at("before").get<std::string>();
            answer = get("/v1/trials/1.0/logs?limit=4&before=" + http::percent_encode(before));
            auto const earlier = messages(answer);
            if (earlier.empty()) break;
            BOOST_TEST(earlier.size() <= 4u);
            all.insert(all.begin(), earlier.begin(), earlier.end());
        }
        BOOST_TEST(all == expected, boost::test_tools::per_element());
    }
    // From a time on, and what was before it.
    auto const later = get("/v1/trials/1.0/logs?run=1&since=2026-11-21T11:00:20Z");
    BOOST_TEST(messages(later).front() == "line 1.20");
    auto const earlier = get("/v1/trials/1.0/logs?limit=2&before=" + later.at("before").get<std::string>());
    BOOST_TEST(messages(earlier) == (Lines{"line 1.18", "line 1.19"}));
    BOOST_TEST(messages(get("/v1/trials/1.0/logs?grep=7&limit=1&before=" +
                            later.at("before").get<std::string>())) == Lines{"line 1.17"});
    BOOST_TEST(status("/v1/trials/1.0/logs?before=0:0:0&after=0:0:0") == 400);
    BOOST_TEST(status("/v1/trials/1.0/logs?before=0:0:0&tail=3") == 400);
    BOOST_TEST(status("/v1/trials/1.0/logs?before=x") == 400);
}

BOOST_AUTO_TEST_CASE(system_metrics_of_a_node_are_curves_over_time) {
    auto journal = must(journal::JournalWriter::create(trial().run(0).node_metrics(1)));
    for (std::int64_t second = 0; second < 5; ++second)
        must(journal.append(MetricsReported{UtcTime{second * 1'000'000}, "gpu", 0,
                                            Json{{"gpu_util GPU-1", 10.0 * static_cast<double>(second)}}}));
    auto const list = get("/v1/trials/1.0/runs/0/nodes/1/metrics").at("metrics");
    BOOST_REQUIRE(list.size() == 1u);
    BOOST_TEST(list[0].at("metric") == "gpu_util GPU-1");
    auto const curve =
        get("/v1/trials/1.0/runs/0/nodes/1/series?group=gpu&metric=gpu_util%20GPU-1").at("curves")[0];
    BOOST_TEST(curve.at("times_us").size() == 5u);
    BOOST_TEST(curve.at("values")[4] == 40.0);
    auto waits = must(journal::JournalWriter::create(trial().run(0).node_waits(1)));
    must(waits.append(MetricsReported{UtcTime{1}, "waits", 0, Json{{"waited_for.3 0", 2.5}}}));
    BOOST_TEST(get("/v1/trials/1.0/runs/0/nodes/1/metrics").at("metrics").size() == 2u);
    auto const waited =
        get("/v1/trials/1.0/runs/0/nodes/1/series?group=waits&metric=waited_for.3%200").at("curves")[0];
    BOOST_TEST(waited.at("values") == Json{2.5});
    BOOST_TEST(get("/v1/trials/1.0/runs/0/nodes/0/metrics").at("metrics").empty());
    BOOST_TEST(status("/v1/trials/1.0/runs/2/nodes/0/metrics") == 404);
    BOOST_TEST(status("/v1/trials/1.0/runs/x/nodes/0/metrics") == 400);
}

BOOST_AUTO_TEST_CASE(logs_come_in_pieces_without_gap_or_repetition) {
    for (int line = 0; line < 10; ++line) {
        auto const time = "2026-11-21T10:00:0" + std::to_string(line) + ".000000Z ";
        write_log(0, line % 3,
                  time + "[rank=" + std::to_string(line % 3) + "] line " + std::to_string(line) + "\n");
    }
    write_log(1, 0, "2026-11-21T10:01:00.000000Z [rank=0] later\nunfinished");
    Lines all;
    std::string after;
    for (int piece = 0; piece < 20; ++piece) {
        auto const answer = get("/v1/trials/1.0/logs?limit=2&after=" + http::percent_encode(after));
        for (auto const& text : messages(answer)) all.push_back(text);
        after = answer.at("after");
        if (answer.at("complete") && messages(answer).empty()) break;
    }
    Lines expected;
    for (int line = 0; line < 10; ++line) expected.push_back("line " + std::to_string(line));
    expected.push_back("later");
    BOOST_TEST(all == expected, boost::test_tools::per_element());
    BOOST_TEST(messages(get("/v1/trials/1.0/logs?rank=1")) == (Lines{"line 1", "line 4", "line 7"}));
    BOOST_TEST(messages(get("/v1/trials/1.0/logs?node=2&run=0")) == (Lines{"line 2", "line 5", "line 8"}));
    BOOST_TEST(messages(get("/v1/trials/1.0/logs?grep=line%20%5B01%5D")) == (Lines{"line 0", "line 1"}));
    BOOST_TEST(messages(get("/v1/trials/1.0/logs?until=2026-11-21T10:00:01Z")) ==
               (Lines{"line 0", "line 1"}));
    BOOST_TEST(messages(get("/v1/trials/1.0/logs?tail=2")) == (Lines{"line 9", "later"}));
    for (auto const* query :
         {"?after=x", "?after=0:0", "?after=0:0:-1", "?after=0:99999:1", "?limit=0", "?limit=10001",
          "?tail=10001", "?tail=1&after=0:0:0", "?rank=-1", "?rank=4294967296", "?since=never", "?level=loud",
          "?grep=%5B", "?wait=-1", "?wait=61", "?wait=x"})
        BOOST_TEST(status(std::string("/v1/trials/1.0/logs") + query) == 400, query);
    // A position that comes from another log does no harm.
    BOOST_TEST(status("/v1/trials/1.0/logs?after=0:0:99999999,7:7:7") == 200);
}

BOOST_AUTO_TEST_CASE(logs_are_followed) {
    auto const after = get("/v1/trials/1.0/logs").at("after").get<std::string>();
    std::jthread const writer([&] {
        std::this_thread::sleep_for(50ms);
        write_log(1, 0, "2026-11-21T10:01:00.000000Z [rank=0] news\n");
    });
    BOOST_TEST(messages(get("/v1/trials/1.0/logs?wait=30&after=" + after)) == Lines{"news"});
    BOOST_TEST(messages(get("/v1/trials/1.0/logs?wait=0.05&grep=absent")).empty());
}

BOOST_AUTO_TEST_CASE(changes_are_waited_for) {
    BOOST_TEST(get("/v1/changes").at("number") == 1);
    BOOST_TEST(get("/v1/changes?after=7&wait=30").at("number") == 1);
    BOOST_TEST(get("/v1/changes?after=1").at("number") == 1);
    auto const begin = SteadyClock::now();
    BOOST_TEST(get("/v1/changes?after=1&wait=0.1").at("number") == 1);
    BOOST_TEST((SteadyClock::now() - begin >= 100ms));
    std::jthread const writer([&] {
        std::this_thread::sleep_for(50ms);
        changes = 2;
        api.on_change();
    });
    BOOST_TEST(get("/v1/changes?after=1&wait=30").at("number") == 2);
    for (auto const* query : {"?after=x", "?wait=60.1", "?wait=-0.1"})
        BOOST_TEST(status(std::string("/v1/changes") + query) == 400, query);
    BOOST_TEST(status("/v1/changes?wait=60") == 200);
}

BOOST_FIXTURE_TEST_CASE(an_action_needs_the_token_and_the_right_type, ActingFixture) {
    Json const label{{"action", "label-add"}, {"target", "1"}, {"value", "mine"}};
    BOOST_TEST(post("/v1/actions", label, {}).status == 401);
    BOOST_TEST(post("/v1/actions", label, {{"Authorization", "Bearer wrong"}}).status == 401);
    auto const name = plan(label);
    BOOST_TEST(post("/v1/actions/" + name, Json::object(), {}).status == 401);
    BOOST_TEST(events_of("labelled") == 0u);
    BOOST_TEST(post("/v1/actions/" + name, Json::object()).status == 200);
    BOOST_TEST(events_of("labelled") == 1u);
    // The tracker without actions has no such path.
    BOOST_TEST(must(client()->send({"POST", "/v1/actions"})).status == 404);
}

BOOST_FIXTURE_TEST_CASE(a_confirmation_is_valid_once_and_not_for_long, ActingFixture) {
    Json const label{{"action", "label-add"}, {"target", "1"}, {"value", "-mine"}};
    auto const first = plan(label), second = plan(label);
    BOOST_TEST(post("/v1/actions/" + first, Json::object()).status == 200);
    BOOST_TEST(post("/v1/actions/" + first, Json::object()).status == 403);
    manual_clock.sleep_for(121s);
    BOOST_TEST(post("/v1/actions/" + second, Json::object()).status == 403);
    BOOST_TEST(post("/v1/actions/invented", Json::object()).status == 403);
    BOOST_TEST(events_of("labelled") == 1u);
}

BOOST_FIXTURE_TEST_CASE(an_action_says_what_it_will_do_and_refuses_what_it_does_not_know, ActingFixture) {
    auto const answer = parse_json(post("/v1/actions", {{"action", "archive"}, {"target", "1"}}).body);
    BOOST_TEST(answer.at("command") == "det-submit experiment archive 1");
    BOOST_TEST(answer.at("summary")[0] == "Experiment 1 'first' is completed.");
    for (auto const& wrong :
         {Json{{"action", "delete"}, {"target", "1"}}, Json{{"action", "pause"}, {"target", "--all"}},
          Json{{"action", "pause"}, {"target", "1"}, {"value", "x"}},
          Json{{"action", "priority"}, {"target", "1"}},
          Json{{"action", "pause"}, {"target", "1"}, {"paused", true}},
          Json{{"action", "pause"}, {"other", 1}},
          Json{{"action", "ahead-of"}, {"target", "-p"}, {"value", "2"}}, Json::array()})
        BOOST_TEST(post("/v1/actions", wrong).status == 400, to_line(wrong));
    BOOST_TEST(post("/v1/actions", {{"action", "pause"}, {"target", "9"}}).status == 404);
}

BOOST_AUTO_TEST_SUITE_END()
