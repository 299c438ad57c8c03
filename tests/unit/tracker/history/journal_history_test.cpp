#include <det/foundation/files.hpp>
#include <det/journal/event_log.hpp>
#include <det/journal/writer.hpp>
#include <det/protocol/json.hpp>
#include <det/tracker/history/journal_history.hpp>
#include <det/tracker/history/view.hpp>

#include <boost/test/unit_test.hpp>

#include "check_result.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace det::tracker::history;

namespace journal_history_test {

struct Fixture {
    TemporaryDirectory directory;
    RootLayout root{directory.path()};
    JournalHistory history{root};

    /// An experiment with one trial, submitted as job 4711.
    ExperimentLayout create(std::uint32_t id) const {
        ExperimentLayout const layout(root, {id});
        must(make_directories(layout.events()));
        ExperimentSpec spec;
        spec.id = {id};
        spec.name = "example";
        must(write_file(layout.spec(), render_spec(spec)));
        must(journal::append_event(layout.events(),
                                   {"created", UtcTime{1}, "me@here", Json{{"job_id", "4711"}}}));
        return layout;
    }
    static void run(ExperimentLayout const& layout, std::uint32_t number,
                    std::optional<RunEnded> const& end) {
        auto const run = layout.trial(0).run(number);
        must(make_directories(run.path()));
        auto life = must(journal::JournalWriter::create(run.life()));
        RunStarted started;
        started.time = UtcTime{10 * (number + 1)};
        must(life.append(started));
        if (end) must(life.append(*end));
    }
    std::string_view state(std::uint32_t id, QueueSnapshot const& queue) {
        return to_string(view_experiment(must(history.load_experiment({id})), queue).state);
    }
    static QueueSnapshot showing(slurm::JobState job_state) {
        QueueSnapshot queue;
        queue.jobs.emplace_back();
        queue.jobs[0].ref = {4711, 0};
        queue.jobs[0].state = job_state;
        return queue;
    }
};

RunEnded finished() { return {UtcTime{99}, Cause::finished, NextAction::stop, 0, "the trainer finished"}; }

}  // namespace journal_history_test

BOOST_FIXTURE_TEST_SUITE(journal_history_test, Fixture)

BOOST_AUTO_TEST_CASE(an_empty_root_has_no_experiments) {
    BOOST_TEST(must(history.list_experiments()).empty());
    BOOST_TEST((must_fail(history.load_experiment({1})).code == codes::no_such_experiment));
}

BOOST_AUTO_TEST_CASE(experiments_are_listed_by_number_and_other_files_ignored) {
    for (std::uint32_t const id : {10, 2, 1}) create(id);
    must(make_directory(root.experiments() / "notes"));
    auto const ids = must(history.list_experiments());
    BOOST_REQUIRE(ids.size() == 3u);
    BOOST_TEST(ids[0].value == 1u);
    BOOST_TEST(ids[2].value == 10u);
}

BOOST_AUTO_TEST_CASE(an_experiment_passes_from_queued_to_completed) {
    auto const layout = create(1);
    BOOST_TEST(state(1, showing(slurm::JobState::pending)) == "QUEUED");
    run(layout, 0, std::nullopt);
    BOOST_TEST(state(1, showing(slurm::JobState::running)) == "RUNNING");
    BOOST_TEST(state(1, {}) == "INTERRUPTED");
    run(layout, 1, finished());
    BOOST_TEST(state(1, {}) == "COMPLETED");
    auto const view = view_experiment(must(history.load_experiment({1})), {});
    BOOST_TEST(view.started()->microseconds == 10);
    BOOST_TEST(view.ended()->microseconds == 99);
}

BOOST_AUTO_TEST_CASE(pending_tasks_are_found_by_their_array) {
    create(1);
    auto queue = showing(slurm::JobState::pending);
    queue.jobs[0].ref.task.reset();
    BOOST_TEST(state(1, queue) == "QUEUED");
}

BOOST_AUTO_TEST_CASE(an_interrupted_creation_is_shown) {
    must(make_directories(ExperimentLayout(root, {3}).path()));
    BOOST_TEST(state(3, {}) == "SUBMITTING");
    auto const layout = create(4);
    must(remove_tree(layout.events()));
    BOOST_TEST(state(4, {}) == "SUBMITTING");
}

BOOST_AUTO_TEST_CASE(reports_come_run_by_run) {
    auto const layout = create(1);
    for (std::uint32_t number = 0; number < 2; ++number) {
        run(layout, number, std::nullopt);
        auto chief = must(journal::JournalWriter::create(layout.trial(0).run(number).journal()));
        must(chief.append(MetricsReported{UtcTime{1}, "training", 10 * (number + 1), Json{{"loss", 0.5}}}));
        must(chief.append(CheckpointCommitted{UtcTime{1}, "uuid", 10, {}, {}}));
        must(chief.append(ProgressReported{UtcTime{1}, 0.5}));
    }
    auto const reports = must(history.load_reports({{1}, 0}));
    BOOST_REQUIRE(reports.size() == 2u);
    BOOST_TEST(reports[1].metrics.at(0).steps_completed == 20u);
    BOOST_TEST(reports[1].checkpoints.size() == 1u);
    BOOST_TEST(reports[1].progress.value() == 0.5);
    BOOST_TEST((must_fail(history.load_reports({{1}, 1})).code == codes::no_such_trial));
}

BOOST_AUTO_TEST_CASE(reports_of_repeated_steps_are_superseded_and_never_the_best) {
    auto const layout = create(1);
    auto spec = must(parse_spec(must(read_file(layout.spec()))));
    spec.searcher = {"single", "loss", true, Json::object()};
    for (std::uint32_t number = 0; number < 2; ++number) {  // run 1 has no checkpoint of run 0
        run(layout, number, std::nullopt);
        auto chief = must(journal::JournalWriter::create(layout.trial(0).run(number).journal()));
        for (std::uint64_t const step : {100, 200}) {
            if (number == 1 && step == 100) continue;  // its own snapshot was of step 100
            must(chief.append(MetricsReported{UtcTime{1}, "validation", step,
                                              Json{{"loss", step == 200 && number == 0 ? 0.125 : 0.5}}}));
        }
    }
    auto const reports = must(history.load_reports({{1}, 0}));
    BOOST_TEST(!reports[0].is_superseded(reports[0].metrics.at(0)));
    BOOST_TEST(reports[0].is_superseded(reports[0].metrics.at(1)));
    BOOST_TEST(!reports[1].is_superseded(reports[1].metrics.at(0)));
    auto const best = must(history.load_best_validation({{1}, 0}, spec));
    BOOST_REQUIRE(best.has_value());
    BOOST_TEST(best->value == 0.5);
    BOOST_TEST(best->steps_completed == 100u);
}

BOOST_AUTO_TEST_CASE(a_damaged_spec_is_named) {
    auto const layout = create(1);
    must(write_file(layout.spec(), "{}"));
    auto const error = must_fail(history.load_experiment({1}));
    BOOST_TEST((error.code == codes::damaged));
    BOOST_TEST(error.notes.at(0).find("spec.json") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
