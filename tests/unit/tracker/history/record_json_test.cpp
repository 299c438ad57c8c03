#include <det/protocol/json.hpp>
#include <det/tracker/history/record_json.hpp>

#include <boost/test/unit_test.hpp>

#include "check_result.hpp"

using namespace det;
using namespace det::tracker::history;

BOOST_AUTO_TEST_SUITE(record_json_test)

BOOST_AUTO_TEST_CASE(an_experiment_survives_the_way_through_json) {
    ExperimentRecord experiment;
    experiment.id = {7};
    experiment.spec.emplace().id = {7};
    experiment.spec->name = "naïve";
    experiment.events.push_back({"created", UtcTime{5}, "me@here", Json{{"job_id", "4711"}}});
    experiment.desired = DesiredState::pause;
    experiment.replacements = {{2, 1}};
    auto& trial = experiment.trials.emplace_back();
    trial.id = {{7}, 0};
    trial.desired = DesiredState::kill;
    trial.claimed_by = slurm::JobRef{123, 4};
    auto& run = trial.runs.emplace_back();
    run.started.emplace().job = "123_4";
    run.ended = RunEnded{UtcTime{9}, Cause::unknown, NextAction::requeue, 3, "words", "n1", "eaten"};
    run.queued_again = UtcTime{11};
    run.allocation = JobAllocated{UtcTime{6}, UtcTime{5}, UtcTime{4}, UtcTime{10}, 2};
    run.decisions.emplace_back().entry = "0@0.5";
    run.decisions.emplace_back().entry = "0@0.25";
    trial.runs.emplace_back();

    auto const json = parse_json(to_json(experiment).dump());
    auto const copy = must(parse_experiment_record(json));
    BOOST_TEST(to_json(copy) == json);
    BOOST_TEST((copy.spec == experiment.spec));
    BOOST_TEST(copy.trials.at(0).runs.size() == 2u);
    BOOST_TEST(copy.trials.at(0).runs.at(0).ended->cause_name() == "eaten");
    BOOST_TEST(copy.trials.at(0).runs.at(0).decisions.at(1).entry == "0@0.25");
    BOOST_TEST((copy.trials.at(0).runs.at(0).allocation->ended == UtcTime{10}));
    BOOST_TEST((copy.trials.at(0).claimed_by == trial.claimed_by));
    BOOST_TEST(copy.replacements.at(2) == 1u);
    BOOST_TEST(must(parse_experiment_record(to_json_without_trials(experiment))).trials.empty());
}

BOOST_AUTO_TEST_CASE(an_experiment_without_a_specification_survives) {
    ExperimentRecord experiment;
    experiment.id = {3};
    BOOST_TEST(!must(parse_experiment_record(to_json(experiment))).spec.has_value());
}

BOOST_AUTO_TEST_CASE(reports_survive_and_supersede_as_before) {
    std::vector<RunReports> runs(2);
    runs[0].add(MetricsReported{UtcTime{1}, "training", 10, Json{{"loss", "NaN"}, {"lr", 0.1}}});
    runs[0].add(MetricsReported{UtcTime{2}, "training", 20, Json{{"loss", 0.5}}});
    runs[0].add(CheckpointCommitted{UtcTime{3}, "uuid", 10, Json{{"a", 1}}, Json{{"b", 2}}});
    runs[0].add(ProgressReported{UtcTime{3}, 0.25});
    runs[0].add(StatusSet{UtcTime{3}, "busy"});
    runs[0].add(TrialMetadataSet{UtcTime{3}, Json{{"lr", 0.5}}});
    runs[0].add(AlertRaised{UtcTime{4}, "title", "text", "warn"});
    runs[0].add(ReportsDropped{UtcTime{4}, 3, "disk full"});
    runs[0].add(ReportsDropped{UtcTime{5}, 4, "disk full"});
    runs[0].add(FirstStep{UtcTime{1}});
    runs[0].add(PreemptionAcknowledged{UtcTime{6}, UtcTime{5}});
    runs[1].run = 1;
    RunStarted started;
    started.latest_checkpoint = "uuid";
    started.steps_completed = 10;
    runs[1].add(started);

    std::vector<RunReports> copies;
    for (auto const& run : runs) {
        auto const json = parse_json(to_json(run).dump());
        copies.push_back(must(parse_run_reports(json)));
        BOOST_TEST(to_json(copies.back()) == json);
    }
    set_cut_offs(copies);
    BOOST_TEST(!copies[0].is_superseded(copies[0].metrics.at(0)));
    BOOST_TEST(copies[0].is_superseded(copies[0].metrics.at(1)));
    BOOST_TEST(copies[0].dropped_reports == 7u);
    BOOST_TEST(copies[0].status.value() == "busy");
    BOOST_TEST((*copies[0].metadata.value())["lr"] == 0.5);
    BOOST_TEST((copies[0].acknowledged->noticed == UtcTime{5}));
    auto const lean = must(parse_run_reports(to_json_without_metrics(runs[0])));
    BOOST_TEST(lean.metrics.empty());
    BOOST_TEST(lean.beginning.first_steps.at("training") == 10u);
}

BOOST_AUTO_TEST_CASE(foreign_json_is_refused) {
    for (auto const* const text : {"{}", "[]", R"({"trial":"x","desired":"run","runs":[]})",
                                   R"({"trial":"7.0","desired":"fly","runs":[]})",
                                   R"({"trial":"7.0","desired":"run","runs":[[{"record":"unknown"}]]})",
                                   R"({"trial":"7.0","desired":"run","runs":[[{"record":3}]]})",
                                   R"({"trial":"7.0","desired":"run","runs":[],"claimed_by":"x"})"}) {
        BOOST_TEST((must_fail(parse_trial_record(parse_json(text))).code == codes::damaged), text);
    }
    BOOST_TEST((must_fail(parse_experiment_record(parse_json("{}"))).code == codes::damaged));
    BOOST_TEST((must_fail(parse_run_reports(parse_json(R"({"run":-1})"))).code == codes::damaged));
}

BOOST_AUTO_TEST_SUITE_END()
