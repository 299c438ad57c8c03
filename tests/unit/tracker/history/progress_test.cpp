#include <det/protocol/json.hpp>
#include <det/tracker/history/progress.hpp>

#include <boost/test/unit_test.hpp>

using namespace det;
using namespace det::tracker::history;

BOOST_AUTO_TEST_SUITE(progress_test)

BOOST_AUTO_TEST_CASE(progress_is_what_was_reported_else_steps_of_the_length) {
    ExperimentSpec spec;
    spec.searcher.options = Json{{"max_length", {{"batches", 400}}}};
    std::vector<RunReports> runs(2);
    BOOST_TEST(!progress_of_trial(runs, spec).has_value());
    runs[0].add(MetricsReported{{}, "training", 100, Json::object()});
    BOOST_TEST(progress_of_trial(runs, spec).value() == 0.25);
    runs[1].add(MetricsReported{{}, "training", 900, Json::object()});
    BOOST_TEST(progress_of_trial(runs, spec).value() == 1.0);
    runs[0].progress = 0.5;
    BOOST_TEST(progress_of_trial(runs, spec).value() == 0.5);
    spec.searcher.options = Json::object();
    runs[0].progress.reset();
    BOOST_TEST(!progress_of_trial(runs, spec).has_value());
}

BOOST_AUTO_TEST_CASE(a_run_is_at_the_step_of_its_checkpoint_until_it_reports) {
    ExperimentSpec spec;
    spec.searcher.options = Json{{"max_length", 400}};
    std::vector<RunReports> runs(2);
    runs[0].add(MetricsReported{{}, "training", 300, Json::object()});
    RunStarted again;
    again.latest_checkpoint = "c0ffee";
    again.steps_completed = 200;
    runs[1].add(again);
    BOOST_TEST(progress_of_trial(runs, spec).value() == 0.5);
    runs[1].add(MetricsReported{{}, "media", 100'000, Json::object()});
    BOOST_TEST(progress_of_trial(runs, spec).value() == 0.5);
    runs[1].add(MetricsReported{{}, "training", 220, Json::object()});
    BOOST_TEST(progress_of_trial(runs, spec).value() == 0.55);
}

BOOST_AUTO_TEST_SUITE_END()
