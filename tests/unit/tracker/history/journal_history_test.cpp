#include <det/foundation/files.hpp>
#include <det/journal/event_log.hpp>
#include <det/journal/writer.hpp>
#include <det/protocol/json.hpp>
#include <det/tracker/history/experiment_view.hpp>
#include <det/tracker/history/journal_history.hpp>

#include <boost/test/unit_test.hpp>

#include "../../../conformance/history_suite.hpp"
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
        auto life = must(journal::JournalWriter::create(run.supervisor_journal()));
        RunStarted started;
        started.time = UtcTime{10 * (number + 1)};
        must(life.append(started));
        if (end) must(life.append(*end));
    }
    std::string_view state(std::uint32_t id, QueueSnapshot const& queue) {
        return to_string(view_experiment(must(history.load_experiment({id})), queue).state);
    }
    static slurm::JobStatus job(slurm::JobState job_state) {
        slurm::JobStatus status;
        status.ref = {4711, 0};
        status.state = job_state;
        return status;
    }
    static QueueSnapshot showing(slurm::JobStatus status) { return {true, {std::move(status)}}; }
    static QueueSnapshot showing(slurm::JobState job_state) { return showing(job(job_state)); }
};

RunEnded finished() { return {UtcTime{99}, Cause::finished, NextAction::stop, 0, "the trainer finished"}; }

}  // namespace journal_history_test

BOOST_FIXTURE_TEST_SUITE(journal_history_test, Fixture)

BOOST_AUTO_TEST_CASE(the_journals_conform) {
    for (auto const& test : history_cases()) {
        TemporaryDirectory own_directory;
        JournalHistory journals{RootLayout(own_directory.path())};
        HistoryTarget target{RootLayout(own_directory.path()), journals};
        BOOST_TEST_CONTEXT(test.name) must(test.run(target));
    }
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

BOOST_AUTO_TEST_CASE(a_job_with_the_number_of_an_experiments_job_is_its_own_only_by_its_comment) {
    auto const layout = create(1);
    ExperimentSpec spec;
    spec.id = {1};
    spec.sbatch_options = {"--comment=det:ab/1", "--nice=100"};
    must(write_file(layout.spec(), render_spec(spec)));
    run(layout, 0, std::nullopt);
    auto task = job(slurm::JobState::running);
    task.comment = "det:ab/1";
    BOOST_TEST(state(1, showing(task)) == "RUNNING");
    for (auto const* other : {"det:ab/2", "det:cd/1", ""}) {
        task.comment = other;
        auto const view = view_experiment(must(history.load_experiment({1})), showing(task));
        BOOST_TEST(to_string(view.state) == "INTERRUPTED", other);
        BOOST_TEST(view.own_arrays().empty());
    }
    BOOST_TEST(view_experiment(must(history.load_experiment({1})), {}).own_arrays().size() == 1u);
}

BOOST_AUTO_TEST_CASE(the_jobs_of_a_number_are_found_in_any_order_of_the_queue) {
    std::vector<slurm::JobStatus> jobs;
    for (slurm::JobRef const ref : {slurm::JobRef{9, 1}, {7, 2}, {8, {}}, {7, {}}, {7, 0}}) {
        jobs.emplace_back();
        jobs.back().ref = ref;
    }
    QueueSnapshot const queue(true, jobs);
    std::vector<slurm::JobRef> found;
    for (auto const& status : queue.with_number(7)) found.push_back(status.ref);
    BOOST_TEST((found == std::vector<slurm::JobRef>{{7, {}}, {7, 0}, {7, 2}}));
    BOOST_TEST(queue.with_number(6).empty());
}

BOOST_AUTO_TEST_CASE(pending_tasks_are_found_by_their_array) {
    create(1);
    auto task = job(slurm::JobState::pending);
    task.ref.task.reset();
    BOOST_TEST(state(1, showing(task)) == "QUEUED");
}

BOOST_AUTO_TEST_CASE(an_interrupted_creation_is_shown) {
    must(make_directories(ExperimentLayout(root, {3}).path()));
    BOOST_TEST(state(3, {}) == "SUBMITTING");
    auto const layout = create(4);
    must(remove_tree(layout.events()));
    BOOST_TEST(state(4, {}) == "SUBMITTING");
}

BOOST_AUTO_TEST_SUITE_END()
