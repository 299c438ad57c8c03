// The routes over a LiveIndex, as det-tracker serves them.
#include <det/foundation/clock.hpp>
#include <det/protocol/json.hpp>
#include <det/search/rung.hpp>
#include <det/tracker/history/journal_history.hpp>
#include <det/tracker/http/client.hpp>
#include <det/tracker/http/server.hpp>
#include <det/tracker/ingest/live_index.hpp>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <fmt/format.h>
#include <future>
#include <unistd.h>

#include "fake_slurm.hpp"
#include "ingest/example_root.hpp"
#include "tracker/api/api.hpp"

using namespace det;
using namespace det::tracker;
using namespace std::chrono_literals;

namespace live_api_test {

struct Fixture {
    TemporaryDirectory directory;
    TemporaryDirectory socket_directory;
    ExampleRoot example{directory.path() / "root"};
    SystemClock clock;
    FakeSlurm slurm;
    std::promise<void> asked_for_changes;
    std::once_flag asked_once;
    std::unique_ptr<ingest::LiveIndex> live = must(ingest::LiveIndex::open(
        {.path = directory.path() / "index", .root = example.root, .age_max = 0ms, .wait_timeout = 30s}));
    api::Api api{sources()};
    std::unique_ptr<http::Server> server = start(api);

    Fixture() {
        live->set_listener([this] { api.on_change(); });
    }
    ~Fixture() { live->set_listener({}); }

    /// Sources for which only on_change() ends the wait of a request.
    api::Sources sources() {
        Environment environment;
        environment.set("DET_ROOT", example.root.path().string());
        api::Sources all{*live, example.root, environment, clock, slurm};
        all.answer_age_max = 0ms;
        all.change_number = [this] {
            auto const number = live->commit_number();
            std::call_once(asked_once, [&] { asked_for_changes.set_value(); });
            return number;
        };
        all.check_interval = 1h;
        return all;
    }
    std::unique_ptr<http::Server> start(api::Api& served, std::string const& socket = "s") const {
        http::ServerSettings settings;
        settings.unix_socket = socket_directory / socket;
        settings.access.owner = ::geteuid();
        return must(http::Server::start(settings, http::RouteTable(served.routes())));
    }
    Json get(std::string const& target, std::string const& socket = "s") const {
        auto const client = http::Client::make(http::UnixEndpoint{socket_directory / socket});
        return parse_json(must(client->get(target)));
    }
};

}  // namespace live_api_test

BOOST_FIXTURE_TEST_SUITE(live_api_test, Fixture)

BOOST_AUTO_TEST_CASE(progress_is_that_of_the_steps_if_the_program_reports_none) {
    auto const layout = example.create(1, 1);
    example.step({{1}, 0});
    example.run_of({{1}, 0}).append(MetricsReported{UtcTime{1}, "training", 400, Json{{"loss", 1.0}}});
    BOOST_TEST(get("/v1/experiments").at("experiments")[0].at("progress").is_null());  // no length is known
    auto spec = must(parse_spec(must(read_file(layout.spec()))));
    spec.searcher.options = Json{{"max_length", {{"batches", 700}}}};
    must(write_file(layout.spec(), render_spec(spec)));
    BOOST_TEST(get("/v1/experiments").at("experiments")[0].at("progress") == 0.5714);
    BOOST_TEST(get("/v1/trials/1.0").at("answer").at("progress").get<double>() == 400. / 700);
}

BOOST_AUTO_TEST_CASE(the_progress_of_a_search_is_that_of_its_description) {
    auto const layout = example.create(1, 4);
    auto spec = must(parse_spec(must(read_file(layout.spec()))));
    spec.searcher = {"adaptive_asha",
                     "loss",
                     true,
                     Json{{"max_trials", 4},
                          {"max_time", 16},
                          {"time_metric", "batches"},
                          {"divisor", 4},
                          {"max_rungs", 2},
                          {"mode", "aggressive"}}};
    must(write_file(layout.spec(), render_spec(spec)));
    must(make_directories(layout.rung(0, 0)));
    for (std::uint32_t trial : {0u, 2u}) {
        auto const name = search::rung_entry_name({trial, 0.5});
        must(write_file(layout.rung(0, 0) / name, ""));
        auto const progress = get("/v1/experiments/1/search").at("answer").at("progress").get<double>();
        BOOST_TEST(progress > 0.2);
        auto const listed = get("/v1/experiments").at("experiments")[0].at("progress").get<double>();
        BOOST_TEST(std::abs(listed - progress) < 1e-4);
    }
}

BOOST_AUTO_TEST_CASE(a_list_has_the_best_trial_and_the_progress) {
    example.create(1, 2);
    for (std::uint32_t trial : {0u, 1u}) {
        example.step({{1}, trial});
        auto& run = example.run_of({{1}, trial});
        for (std::uint64_t step = 1; step <= 3; ++step) {
            Json const metrics{{"loss", 10.0 * (trial + 1) - static_cast<double>(step)}};
            run.append(
                MetricsReported{UtcTime{static_cast<std::int64_t>(step)}, "validation", step, metrics});
        }
    }
    example.run_of({{1}, 0}).append(ProgressReported{UtcTime{9}, 0.5});
    auto const running = get("/v1/experiments").at("experiments")[0];
    BOOST_TEST(running.at("progress") == 0.25);
    BOOST_TEST(running.at("best") == (Json{{"trial", "1.0"}, {"value", 7.0}, {"steps_completed", 3}}));
    for (std::uint32_t trial : {0u, 1u}) example.finish({{1}, trial});
    auto const ended = get("/v1/experiments").at("experiments")[0];
    BOOST_TEST(ended.at("progress") == 1.0);
    BOOST_TEST(ended.at("best").at("trial") == "1.0");
    auto const names = get("/v1/experiments/1/metrics").at("metrics");
    BOOST_TEST(names == (Json{{{"group", "validation"}, {"metric", "loss"}}}));
    auto const curves = get("/v1/experiments/1/series?group=validation&metric=loss").at("trials");
    BOOST_REQUIRE(curves.size() == 2u);
    BOOST_TEST(curves[1].at("values") == (Json{19, 18, 17}));
}

BOOST_AUTO_TEST_CASE(a_commit_answers_the_request_that_waits_for_a_change) {
    example.create(1, 1);
    must(live->load_experiment({1}));
    auto const before = live->commit_number();
    auto answer = std::async(std::launch::async, [&] {
        return get(fmt::format("/v1/changes?after={}&wait=60", before)).at("number").get<std::int64_t>();
    });
    BOOST_REQUIRE((asked_for_changes.get_future().wait_for(30s) == std::future_status::ready));
    example.step({{1}, 0});
    must(live->load_experiment({1}));
    BOOST_REQUIRE((answer.wait_for(30s) == std::future_status::ready));
    BOOST_TEST(answer.get() > before);
}

BOOST_AUTO_TEST_CASE(the_list_is_that_of_the_journals_at_every_step) {
    slurm.is_down = true;  // so that all states come from the journals
    for (std::uint32_t id = 1; id <= 3; ++id) {
        example.create(id, 2);
        for (int step = 0; step < 6; ++step) {
            example.step({{id}, static_cast<std::uint32_t>(step % 2)});
            if (step == 4 && id == 2)
                for (std::uint32_t trial : {0, 1}) example.finish({{id}, trial});
            auto const list = get("/v1/experiments").at("experiments");
            BOOST_REQUIRE(list.size() == id);
            for (auto const& found : list) {
                auto const expected = get(fmt::format("/v1/experiments/{}", found.at("id").get<int>()));
                for (auto const* key : {"state", "started", "ended", "name", "job_ids"})
                    BOOST_TEST(found.at(key) == expected.at("answer").at(key), key);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(every_route_answers_from_the_index_as_from_the_journals) {
    history::JournalHistory journals(example.root);
    auto others = sources();
    api::Api of_journals({journals, example.root, others.environment, clock, slurm});
    auto const other_server = start(of_journals, "j");
    example.create(1, 2);
    for (int step = 0; step < 40; ++step) example.step({{1}, static_cast<std::uint32_t>(step % 2)});
    for (std::uint32_t trial : {0, 1}) example.finish({{1}, trial});
    for (auto const* path :
         {"/v1/experiments/1", "/v1/experiments/1/metrics", "/v1/experiments/1/metrics?trial=1.1",
          "/v1/experiments/1/series?group=validation&metric=loss&width=5",
          "/v1/experiments/1/series?group=training&metric=m0&axis=time", "/v1/experiments/1/trials",
          "/v1/experiments/1/checkpoints", "/v1/experiments/1/search", "/v1/trials/1.0", "/v1/trials/1.1",
          "/v1/trials/1.0/profile", "/v1/trials/1.1/metrics", "/v1/trials/1.1/metrics?all_runs=true",
          "/v1/trials/1.1/series?group=training&metric=m0",
          "/v1/trials/1.1/series?group=validation&metric=loss",
          "/v1/trials/1.0/series?group=training&metric=m0&all_runs=true&axis=time&width=7"})
        BOOST_TEST(get(path) == get(path, "j"), path);
    auto list = get("/v1/experiments"), of_files = get("/v1/experiments", "j");
    for (auto* answer : {&list, &of_files}) {
        for (auto const* key : {"best", "progress"})
            answer->at("experiments")[0].erase(key);  // only an index has them
    }
    BOOST_TEST(list == of_files);
}

BOOST_AUTO_TEST_SUITE_END()
