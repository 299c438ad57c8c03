#include "history_suite.hpp"

#include <det/foundation/files.hpp>
#include <det/journal/event_log.hpp>
#include <det/journal/writer.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/metric_frames.hpp>
#include <det/tracker/history/journal_history.hpp>
#include <det/tracker/history/record_json.hpp>

#include <array>
#include <cmath>

#include "expectation.hpp"

namespace det::tracker::history {
namespace {

ExperimentSpec example_spec(std::uint32_t id) {
    ExperimentSpec spec;
    spec.id = {id};
    spec.name = "exämple";
    spec.searcher = {"single", "loss", true, Json::object()};
    return spec;
}

/// An experiment that was submitted as job 4711.
Result<ExperimentLayout> create(HistoryTarget const& target, ExperimentSpec const& spec) {
    ExperimentLayout const layout(target.root, spec.id);
    DET_TRY(make_directories(layout.events()));
    DET_TRY(write_file(layout.spec(), render_spec(spec)));
    DET_TRY(
        journal::append_event(layout.events(), {"created", UtcTime{1}, "me@here", Json{{"job_id", "4711"}}}));
    return layout;
}

struct RunFiles {
    journal::JournalWriter life;
    journal::JournalWriter chief;
};

Result<RunFiles> begin_run(ExperimentLayout const& layout, std::uint32_t trial, std::uint32_t number,
                           RunStarted started = {}) {
    auto const run = layout.trial(trial).run(number);
    DET_TRY(make_directories(run.path()));
    DET_TRY_ASSIGN(auto life, journal::JournalWriter::create(run.supervisor_journal()));
    DET_TRY_ASSIGN(auto chief, journal::JournalWriter::create(run.chief_journal()));
    started.time = UtcTime{10 * (number + 1)};
    DET_TRY(life.append(started));
    return RunFiles{std::move(life), std::move(chief)};
}

Status expect_error(Error const& error, ErrorCode code) {
    return expect(error.code == code,
                  fmt::format("the error {} instead of {}: {}", code.name, error.code.name, error.message));
}

template <class Record>
Status expect_same(Record const& found, Record const& expected, std::string_view what) {
    auto const text = to_json(found).dump();
    auto const wanted = to_json(expected).dump();
    return expect(text == wanted, fmt::format("{} {}, not {}", what, wanted, text));
}

/// Compares everything about an experiment with what its journals say.
Status expect_as_in_journals(HistoryTarget& target, ExperimentId id) {
    JournalHistory journals(target.root);
    DET_TRY_ASSIGN(auto const expected, journals.load_experiment(id));
    DET_TRY_ASSIGN(auto const found, target.history.load_experiment(id));
    DET_TRY(expect_same(found, expected, "the experiment"));
    for (auto const& trial : expected.trials) {
        DET_TRY_ASSIGN(auto const expected_runs, journals.load_reports(trial.id));
        DET_TRY_ASSIGN(auto const runs, target.history.load_reports(trial.id));
        DET_TRY(expect(runs.size() == expected_runs.size(), "the same number of runs"));
        for (std::size_t run = 0; run < runs.size(); ++run) {
            DET_TRY(expect_same(runs[run], expected_runs[run], "the run"));
            for (auto const& report : runs[run].metrics) {
                DET_TRY(expect(
                    runs[run].is_superseded(report) == expected_runs[run].is_superseded(report),
                    fmt::format("the same cut-off for step {} of run {}", report.steps_completed, run)));
            }
        }
    }
    return Ok{};
}

Status an_empty_root_has_no_experiments(HistoryTarget& target) {
    DET_TRY(target.refresh());
    DET_TRY_ASSIGN(auto const ids, target.history.list_experiments());
    DET_TRY(expect(ids.empty(), "no experiments"));
    auto const none = target.history.load_experiment({1});
    DET_TRY(expect(!none, "no experiment 1"));
    return expect_error(none.error(), codes::no_such_experiment);
}

Status experiments_are_listed_by_number(HistoryTarget& target) {
    for (std::uint32_t const id : {10, 2, 1, 3}) DET_TRY(create(target, example_spec(id)));
    DET_TRY(make_directories(target.root.experiments() / "notes"));
    DET_TRY(write_file(ExperimentLayout(target.root, {3}).deleted(), ""));
    DET_TRY(target.refresh());
    DET_TRY_ASSIGN(auto const ids, target.history.list_experiments());
    DET_TRY(expect(ids == std::vector<ExperimentId>{{1}, {2}, {10}},
                   "1, 2, 10, without what is no number or deleted"));
    auto const deleted = target.history.load_experiment({3});
    DET_TRY(expect(!deleted, "a deleted experiment is absent"));
    return expect_error(deleted.error(), codes::no_such_experiment);
}

/// Compares a list with what the journals say.
Status expect_same_list(HistoryTarget& target, ExperimentFilter const& filter, std::string const& what) {
    JournalHistory journals(target.root);
    DET_TRY_ASSIGN(auto const expected, journals.list_summaries(filter));
    DET_TRY_ASSIGN(auto const found, target.history.list_summaries(filter));
    DET_TRY(expect(found.has_more == expected.has_more, "the same end of the page: " + what));
    DET_TRY(expect(found.experiments.size() == expected.experiments.size(), "as many: " + what));
    for (std::size_t at = 0; at < found.experiments.size(); ++at) {
        auto const& a = found.experiments[at];
        auto const& b = expected.experiments[at];
        DET_TRY(expect(a.id == b.id, "the same experiments: " + what));
        DET_TRY(expect(a.text == b.text, fmt::format("{}: {}, not {}", what, b.text, a.text)));
        DET_TRY(expect(a.error == b.error, "the same error: " + what));
    }
    return Ok{};
}

Status end_trial(ExperimentLayout const& layout, Cause cause, std::uint32_t run = 0) {
    DET_TRY_ASSIGN(auto files, begin_run(layout, 0, run));
    return files.life.append(RunEnded{UtcTime{99}, cause, NextAction::stop, 0, "over"});
}

/// Experiments 1 to 6: completed, failed, being created, waiting, damaged, archived with a label.
Status create_several(HistoryTarget& target) {
    for (auto const& [id, cause] : {std::pair(1u, Cause::finished), std::pair(2u, Cause::failed)}) {
        auto spec = example_spec(id);
        spec.owner = id == 1 ? "me" : "you";
        spec.name = id == 1 ? "50% \"ä_b\"" : "other";
        DET_TRY_ASSIGN(auto const layout, create(target, spec));
        DET_TRY(end_trial(layout, cause));
    }
    DET_TRY(make_directories(ExperimentLayout(target.root, {3}).path()));
    DET_TRY(create(target, example_spec(4)));
    DET_TRY_ASSIGN(auto const damaged, create(target, example_spec(5)));
    DET_TRY(write_file(damaged.spec(), "{}"));
    DET_TRY_ASSIGN(auto const archived, create(target, example_spec(6)));
    DET_TRY(end_trial(archived, Cause::finished));
    DET_TRY(
        journal::append_event(archived.events(), {"labelled", UtcTime{2}, "me", Json{{"label", "a,\"b"}}}));
    return journal::append_event(archived.events(), {"archived", UtcTime{3}, "me", Json::object()});
}

Status a_list_has_the_summaries_that_pass_the_filter(HistoryTarget& target) {
    DET_TRY(create_several(target));
    DET_TRY(target.refresh());
    DET_TRY_ASSIGN(auto const all, target.history.list_summaries({.with_archived = true}));
    DET_TRY(expect(all.experiments.size() == 6 && !all.has_more, "all six"));
    DET_TRY(expect(all.experiments[0].id == ExperimentId{6}, "the newest first"));
    DET_TRY(expect(all.experiments[1].error && all.experiments[1].text.empty(), "the error of 5"));
    DET_TRY(expect(!all.experiments[2].error && all.experiments[2].text.empty(), "4 needs the queue"));
    DET_TRY(expect(parse_json(all.experiments[3].text).at("state") == "SUBMITTING", "the state of 3"));
    auto const first = parse_json(all.experiments[5].text);
    DET_TRY(expect(first.at("completed_trials") == 1 && first.at("trial_count") == 1, "the trials of 1"));
    using lifecycle::State;
    struct Case {
        ExperimentFilter filter;
        std::vector<std::uint32_t> ids;
    };
    for (auto const& [filter, ids] : std::initializer_list<Case>{
             {{}, {5, 4, 3, 2, 1}},
             {{.state = State::completed}, {5, 4, 1}},
             {{.state = State::error}, {5, 4, 2}},
             {{.state = State::running, .with_archived = true}, {5, 4}},
             {{.owner = "me"}, {5, 1}},
             {{.owner = ""}, {5, 4}},
             {{.name = "% \"ä_"}, {5, 1}},
             {{.name = "o%r"}, {5}},
             {{.name = ""}, {5, 4, 3, 2, 1}},
             {{.label = "a,\"b", .with_archived = true}, {6, 5}},
             {{.label = "a", .with_archived = true}, {5}},
             {{.before = 5}, {4, 3, 2, 1}},
             {{.before = 1}, {}},
             {{.before = 0}, {}},
             {{.before = std::uint64_t{1} << 63}, {5, 4, 3, 2, 1}},
             {{.limit = 5}, {5, 4, 3, 2, 1}},
             {{.limit = 4}, {5, 4, 3, 2}},
             {{.state = State::completed, .limit = 2}, {5, 4}},
             {{.before = 4, .limit = 1}, {3}},
         }) {
        auto const what = fmt::format("[{}]", fmt::join(ids, " "));
        DET_TRY_ASSIGN(auto const page, target.history.list_summaries(filter));
        std::vector<std::uint32_t> found;
        for (auto const& experiment : page.experiments) found.push_back(experiment.id.value);
        DET_TRY(expect(found == ids, fmt::format("{}, not [{}]", what, fmt::join(found, " "))));
        DET_TRY(expect_same_list(target, filter, what));
    }
    return Ok{};
}

Status a_list_follows_the_changes(HistoryTarget& target) {
    DET_TRY_ASSIGN(auto const layout, create(target, example_spec(1)));
    DET_TRY(target.refresh());
    ExperimentFilter const all{.with_archived = true};
    DET_TRY(expect_same_list(target, all, "a waiting one"));
    DET_TRY(end_trial(layout, Cause::finished));
    DET_TRY(target.refresh());
    DET_TRY(expect_same_list(target, all, "a completed one"));
    DET_TRY(journal::append_event(layout.events(), {"renamed", UtcTime{2}, "me", Json{{"name", "new"}}}));
    DET_TRY(target.refresh());
    DET_TRY(expect_same_list(target, all, "a renamed one"));
    DET_TRY(write_file(layout.deleted(), ""));
    DET_TRY(create(target, example_spec(2)));
    DET_TRY(target.refresh());
    DET_TRY(expect_same_list(target, all, "a deleted one"));
    DET_TRY_ASSIGN(auto const left, target.history.list_summaries(all));
    return expect(left.experiments.size() == 1 && left.experiments[0].id == ExperimentId{2}, "only 2");
}

Status a_continued_experiment_is_not_over(HistoryTarget& target) {
    auto spec = example_spec(1);
    DET_TRY_ASSIGN(auto const layout, create(target, spec));
    DET_TRY(end_trial(layout, Cause::finished));
    DET_TRY(target.refresh());
    DET_TRY(expect_as_in_journals(target, {1}));
    spec.revisions.push_back({.number = 1, .first_runs = {{0, 1}}});
    DET_TRY(write_file(layout.spec(), render_spec(spec)));
    DET_TRY(target.refresh());
    DET_TRY(expect_same_list(target, {}, "a continued one"));
    DET_TRY_ASSIGN(auto const page, target.history.list_summaries({}));
    DET_TRY(expect(page.experiments.at(0).text.empty(), "a state that needs the queue"));
    DET_TRY(end_trial(layout, Cause::failed, 1));
    DET_TRY(target.refresh());
    DET_TRY(expect_as_in_journals(target, {1}));
    return expect_same_list(target, {}, "one that failed after it was continued");
}

Status an_experiment_that_is_being_created_has_no_specification(HistoryTarget& target) {
    DET_TRY(make_directories(ExperimentLayout(target.root, {3}).path()));
    DET_TRY(target.refresh());
    DET_TRY_ASSIGN(auto const found, target.history.load_experiment({3}));
    DET_TRY(expect(!found.spec && found.events.empty() && found.trials.empty(), "nothing but its id"));
    return expect(found.id == ExperimentId{3}, "its id");
}

Status an_experiment_is_loaded_with_all_its_records(HistoryTarget& target) {
    auto spec = example_spec(7);
    spec.trial_count = 3;
    DET_TRY_ASSIGN(auto const layout, create(target, spec));
    DET_TRY(
        journal::append_event(layout.events(), {"renamed", UtcTime{2}, "me@here", Json{{"name", "new"}}}));
    DET_TRY(write_file(layout.desired(), render_desired(DesiredState::pause)));
    DET_TRY_ASSIGN(auto run, begin_run(layout, 1, 0));
    DET_TRY(
        run.life.append(RunEnded{UtcTime{99}, Cause::failed, NextAction::restart_in_place, 3, "it failed"}));
    DET_TRY_ASSIGN(auto next, begin_run(layout, 1, 1));
    DET_TRY(make_directories(layout.trial(2).path()));
    DET_TRY(write_file(layout.trial(2).desired(), render_desired(DesiredState::kill)));
    DET_TRY(target.refresh());
    DET_TRY_ASSIGN(auto const found, target.history.load_experiment({7}));
    DET_TRY(expect(found.spec == spec, "the specification"));
    DET_TRY(expect(found.events.size() == 2, "two events"));
    DET_TRY(expect(found.desired == DesiredState::pause, "the desired state of the experiment"));
    DET_TRY(expect(found.trials.size() == 3, "three trials"));
    DET_TRY(expect(found.trials[2].desired == DesiredState::kill, "the desired state of a trial"));
    DET_TRY(expect(found.trials[1].runs.size() == 2, "two runs"));
    DET_TRY(expect(found.trials[1].runs[0].ended && found.trials[1].runs[0].ended->exit_code == 3,
                   "an exit code"));
    DET_TRY(expect(!found.trials[1].runs[1].ended, "a run that goes on"));
    return expect_as_in_journals(target, {7});
}

Status claims_and_replacements_are_loaded(HistoryTarget& target) {
    auto spec = example_spec(2);
    spec.trial_count = 2;
    spec.lanes = 2;
    DET_TRY_ASSIGN(auto const layout, create(target, spec));
    DET_TRY(make_directories(layout.trial(0).path()));
    DET_TRY(write_file(layout.trial(0).claimed(), "4711_1\n"));
    DET_TRY_ASSIGN(auto const replacement, journal::find_or_create_replacement(layout, 2, 1, "4711_0\n"));
    DET_TRY(expect(replacement == 2, "a replacement after the last trial"));
    DET_TRY(target.refresh());
    DET_TRY_ASSIGN(auto const found, target.history.load_experiment({2}));
    DET_TRY(expect(found.trials.size() == 3, "the replacement is a trial"));
    DET_TRY(expect(found.trials[0].claimed_by == slurm::JobRef{4711, 1}, "the claim of a trial"));
    DET_TRY(expect(found.replacements.at(2) == 1, "which trial it replaces"));
    return expect_as_in_journals(target, {2});
}

Status reports_come_run_by_run(HistoryTarget& target) {
    DET_TRY_ASSIGN(auto const layout, create(target, example_spec(1)));
    for (std::uint32_t number = 0; number < 2; ++number) {
        DET_TRY_ASSIGN(auto run, begin_run(layout, 0, number));
        DET_TRY(run.chief.append(FirstStep{UtcTime{2}}));
        DET_TRY(run.chief.append(
            MetricsReported{UtcTime{3}, "training", 10 * (number + 1),
                            Json{{"loss", 0.1}, {"bad", "NaN"}, {"worse", "-Infinity"}, {"ä \"'", 3}}}));
        DET_TRY(run.chief.append(CheckpointCommitted{UtcTime{4}, "uuid", 10, {}, {}}));
        DET_TRY(run.chief.append(ProgressReported{UtcTime{5}, 0.5}));
        DET_TRY(run.chief.append(StatusSet{UtcTime{6}, "busy"}));
        DET_TRY(run.chief.append(AlertRaised{UtcTime{7}, "title", "text", "warn"}));
    }
    DET_TRY(target.refresh());
    DET_TRY_ASSIGN(auto const runs, target.history.load_reports({{1}, 0}));
    DET_TRY(expect(runs.size() == 2 && runs[1].run == 1, "two runs"));
    DET_TRY(expect(runs[1].metrics.at(0).steps_completed == 20, "the report of run 1"));
    DET_TRY(expect(runs[1].checkpoints.size() == 1 && runs[1].alerts.size() == 1, "its other records"));
    DET_TRY(expect(runs[1].progress == 0.5 && runs[1].status == "busy", "its progress and status"));
    DET_TRY(expect_as_in_journals(target, {1}));
    auto const none = target.history.load_reports({{1}, 1});
    DET_TRY(expect(!none, "no trial 1"));
    DET_TRY(expect_error(none.error(), codes::no_such_trial));
    auto const absent = target.history.load_reports({{2}, 0});
    DET_TRY(expect(!absent, "no experiment 2"));
    return expect_error(absent.error(), codes::no_such_experiment);
}

Status many_reports_are_complete_and_in_order(HistoryTarget& target) {
    DET_TRY_ASSIGN(auto const layout, create(target, example_spec(1)));
    DET_TRY_ASSIGN(auto run, begin_run(layout, 0, 0));
    constexpr std::uint64_t count = 3000;
    for (std::uint64_t step = 1; step <= count; ++step) {
        DET_TRY(run.chief.append(MetricsReported{UtcTime{static_cast<std::int64_t>(step)},
                                                 step % 10 == 0 ? "validation" : "training", step,
                                                 Json{{"loss", 1.0 / static_cast<double>(step)}}}));
    }
    DET_TRY(target.refresh());
    DET_TRY_ASSIGN(auto const runs, target.history.load_reports({{1}, 0}));
    DET_TRY(expect(runs.size() == 1 && runs[0].metrics.size() == count, "all reports"));
    return expect_as_in_journals(target, {1});
}

Status what_is_written_later_is_seen(HistoryTarget& target) {
    DET_TRY_ASSIGN(auto const layout, create(target, example_spec(1)));
    DET_TRY_ASSIGN(auto run, begin_run(layout, 0, 0));
    DET_TRY(run.chief.append(MetricsReported{UtcTime{1}, "training", 1, Json{{"loss", 1.0}}}));
    DET_TRY(target.refresh());
    DET_TRY(expect_as_in_journals(target, {1}));
    DET_TRY(run.chief.append(MetricsReported{UtcTime{2}, "training", 2, Json{{"loss", 0.5}}}));
    DET_TRY(run.life.append(RunEnded{UtcTime{99}, Cause::finished, NextAction::stop, 0, "done"}));
    DET_TRY(journal::append_event(layout.events(), {"archived", UtcTime{100}, "me@here", Json::object()}));
    DET_TRY(create(target, example_spec(2)));
    DET_TRY(target.refresh());
    DET_TRY_ASSIGN(auto const ids, target.history.list_experiments());
    DET_TRY(expect(ids.size() == 2, "the new experiment"));
    DET_TRY_ASSIGN(auto const runs, target.history.load_reports({{1}, 0}));
    DET_TRY(expect(runs.at(0).metrics.size() == 2, "the new report"));
    return expect_as_in_journals(target, {1});
}

Status repeated_steps_are_superseded_and_never_the_best(HistoryTarget& target) {
    auto const spec = example_spec(1);
    DET_TRY_ASSIGN(auto const layout, create(target, spec));
    for (std::uint32_t number = 0; number < 2; ++number) {  // run 1 has no checkpoint of run 0
        DET_TRY_ASSIGN(auto run, begin_run(layout, 0, number));
        for (std::uint64_t const step : {100, 200}) {
            if (number == 1 && step == 100) continue;  // its own snapshot was of step 100
            double const loss = step == 200 && number == 0 ? 0.125 : 0.5;
            DET_TRY(run.chief.append(MetricsReported{UtcTime{1}, "validation", step, Json{{"loss", loss}}}));
        }
    }
    DET_TRY(target.refresh());
    DET_TRY_ASSIGN(auto const runs, target.history.load_reports({{1}, 0}));
    DET_TRY(expect(!runs.at(0).is_superseded(runs[0].metrics.at(0)), "step 100 of run 0 counts"));
    DET_TRY(expect(runs[0].is_superseded(runs[0].metrics.at(1)), "step 200 of run 0 is superseded"));
    DET_TRY(expect(!runs.at(1).is_superseded(runs[1].metrics.at(0)), "step 200 of run 1 counts"));
    DET_TRY_ASSIGN(auto const best, target.history.load_best_validation({{1}, 0}, spec));
    DET_TRY(expect(best.has_value(), "there is a best validation"));
    DET_TRY(expect(best->value == 0.5 && best->steps_completed == 100, "the best that is not superseded"));
    return expect_as_in_journals(target, {1});
}

Status expect_series(HistoryTarget& target, std::string const& metric, SupersededReports superseded) {
    JournalHistory journals(target.root);
    DET_TRY_ASSIGN(auto const expected, journals.load_series({{1}, 0}, "training", metric, superseded));
    DET_TRY_ASSIGN(auto const found, target.history.load_series({{1}, 0}, "training", metric, superseded));
    DET_TRY(expect(found.size() == expected.size(), "a series for each run"));
    for (std::size_t run = 0; run < found.size(); ++run) {
        DET_TRY(expect(found[run].run == expected[run].run, "the number of the run"));
        DET_TRY(expect(found[run].steps == expected[run].steps, "the steps of " + metric));
        DET_TRY(expect(found[run].times == expected[run].times, "the times of " + metric));
        // As texts, because NaN differs from itself.
        DET_TRY(expect(fmt::format("{}", fmt::join(found[run].values, " ")) ==
                           fmt::format("{}", fmt::join(expected[run].values, " ")),
                       "the values of " + metric));
    }
    return Ok{};
}

Status expect_metrics(HistoryTarget& target) {
    JournalHistory journals(target.root);
    DET_TRY_ASSIGN(auto const expected, journals.list_metrics(TrialId{{1}, 0}));
    DET_TRY_ASSIGN(auto const found, target.history.list_metrics(TrialId{{1}, 0}));
    DET_TRY(expect(!expected.empty() && found == expected, "the names of the metrics of a trial"));
    DET_TRY_ASSIGN(auto const all, target.history.list_metrics(ExperimentId{1}, 1));
    DET_TRY(expect(all == expected, "the names of the metrics of an experiment"));
    DET_TRY_ASSIGN(auto const runs, target.history.load_reports_without_metrics({{1}, 0}));
    DET_TRY_ASSIGN(auto const whole, journals.load_reports({{1}, 0}));
    DET_TRY(expect(runs.size() == whole.size(), "an entry for each run"));
    for (std::size_t run = 0; run < runs.size(); ++run) {
        DET_TRY(expect(runs[run].metrics.empty(), "no metrics"));
        DET_TRY(expect(to_json_without_metrics(runs[run]) == to_json_without_metrics(whole[run]),
                       "the other reports of a run"));
    }
    return Ok{};
}

std::string render(Curve const& curve) {
    std::vector<std::int64_t> times;
    for (auto const time : curve.times) times.push_back(time.microseconds);
    return fmt::format("{} {} [{}] [{}] [{}]", curve.run ? std::to_string(*curve.run) : "all", curve.points,
                       fmt::join(curve.steps, " "), fmt::join(times, " "), fmt::join(curve.values, " "));
}

Status expect_curves(HistoryTarget& target, std::string const& metric) {
    JournalHistory journals(target.root);
    for (auto const axis : {Axis::steps, Axis::time}) {
        for (bool const all_runs : {false, true}) {
            for (std::size_t const width : {1, 3, 1000}) {
                for (auto const& from : {std::optional<double>(), std::optional<double>(7)}) {
                    for (auto const& to : {std::optional<double>(), std::optional<double>(18)}) {
                        CurveQuery const query{"training", metric, width, axis, from, to, all_runs};
                        DET_TRY_ASSIGN(auto const expected, journals.load_curves({{1}, 0}, query));
                        DET_TRY_ASSIGN(auto const found, target.history.load_curves({{1}, 0}, query));
                        DET_TRY(expect(found.size() == expected.size(), "as many curves"));
                        for (std::size_t at = 0; at < found.size(); ++at) {
                            auto const a = render(found[at]), b = render(expected[at]);
                            DET_TRY(expect(a == b, fmt::format("the curve {} of {}, not {}", b, metric, a)));
                        }
                    }
                }
            }
        }
    }
    CurveQuery const query{"training", metric, 10};
    DET_TRY_ASSIGN(auto const own, target.history.load_curves({{1}, 0}, query));
    DET_TRY_ASSIGN(auto const all, target.history.load_trial_curves({1}, 1, query));
    DET_TRY(expect(all.size() == 1 && render(all[0]) == render(own[0]), "the curve of each trial"));
    DET_TRY(expect_metrics(target));
    return Ok{};
}

Status curves_of_many_reports_are_those_of_the_journals(HistoryTarget& target) {
    DET_TRY_ASSIGN(auto const layout, create(target, example_spec(1)));
    MetricFrameWriter frames;
    for (std::uint32_t number = 0; number < 3; ++number) {
        DET_TRY_ASSIGN(auto run, begin_run(layout, 0, number));
        for (std::uint64_t step = 1 + 5000 * number; step <= 20000; ++step) {
            Metric const loss{"loss", step % 977 == 0 ? NAN : static_cast<double>((step * 7919) % 10007)};
            frames.add(UtcTime{static_cast<std::int64_t>(100'000 * number + 3 * step)}, "training", step,
                       {&loss, 1});
        }
        for (auto const& record : frames.take()) DET_TRY(run.chief.append(record));
        frames = MetricFrameWriter();
    }
    DET_TRY(target.refresh());
    return expect_curves(target, "loss");
}

Status series_have_the_numbers_of_each_run(HistoryTarget& target) {
    DET_TRY_ASSIGN(auto const layout, create(target, example_spec(1)));
    for (std::uint32_t number = 0; number < 2; ++number) {
        DET_TRY_ASSIGN(auto run, begin_run(layout, 0, number));
        for (std::uint64_t step = 1 + 10 * number; step <= 20 + 10 * number; ++step) {
            Json metrics{{"loss", 1.0 / static_cast<double>(step)}, {"all", true}};
            if (step % 7 == 0) metrics["loss"] = step % 2 == 0 ? "NaN" : "-Infinity";
            if (step % 5 == 0) metrics["text"] = "none";
            if (step % 3 == 0) metrics["rare"] = step;
            DET_TRY(run.chief.append(MetricsReported{UtcTime{static_cast<std::int64_t>(100 * number + step)},
                                                     "training", step, metrics}));
            DET_TRY(run.chief.append(MetricsReported{UtcTime{5}, "validation", step, Json{{"loss", 7.0}}}));
        }
    }
    DET_TRY(target.refresh());
    DET_TRY_ASSIGN(auto const joined,
                   target.history.load_series({{1}, 0}, "training", "loss", SupersededReports::left_out));
    DET_TRY(expect(joined.size() == 2 && joined[0].size() == 10 && joined[1].size() == 20,
                   "30 numbers of two runs"));
    for (auto const* metric : {"loss", "rare", "text", "all", "absent"}) {
        DET_TRY(expect_series(target, metric, SupersededReports::left_out));
        DET_TRY(expect_series(target, metric, SupersededReports::included));
        DET_TRY(expect_curves(target, metric));
    }
    auto const none = target.history.load_series({{1}, 1}, "training", "loss", SupersededReports::included);
    DET_TRY(expect(!none, "no trial 1"));
    return expect_error(none.error(), codes::no_such_trial);
}

/// Appends a report to the journal of a rank other than the chief.
Status append_of_rank(ExperimentLayout const& layout, std::uint32_t run, Rank rank, MetricsReported report) {
    DET_TRY_ASSIGN(auto journal, journal::JournalWriter::open(layout.trial(0).run(run).rank_journal(rank)));
    MetricFrameWriter frames(rank);
    std::vector<Metric> metrics;
    for (auto const& [name, value] : report.metrics->items()) {
        if (value.is_number()) metrics.push_back({name, value.get<double>()});
    }
    report.rank = rank;
    if (metrics.size() < report.metrics->size()) return journal.append(report);
    frames.add(report.time, report.group, report.steps_completed, metrics);
    for (auto const& record : frames.take()) DET_TRY(journal.append(record));
    return Ok{};
}

/// As Determined's example of unmanaged trials reports: the ranks in turn, and the chief no validation.
Status ranks_report_in_turn(HistoryTarget& target) {
    auto const spec = example_spec(1);
    DET_TRY_ASSIGN(auto const layout, create(target, spec));
    DET_TRY_ASSIGN(auto run, begin_run(layout, 0, 0));
    for (std::uint64_t step = 0; step < 20; ++step) {
        MetricsReported const report{UtcTime{static_cast<std::int64_t>(step)}, "training", step,
                                     Json{{"loss", 1.0 / static_cast<double>(step + 1)}}};
        DET_TRY(step % 2 == 0 ? run.chief.append(report) : append_of_rank(layout, 0, {1}, report));
        if (step == 9) DET_TRY(target.refresh());
    }
    DET_TRY(append_of_rank(layout, 0, {1}, {UtcTime{30}, "validation", 9, Json{{"loss", 0.5}}}));
    DET_TRY(append_of_rank(layout, 0, {10}, {UtcTime{31}, "validation", 10, Json{{"loss", 0.25}}}));
    DET_TRY(append_of_rank(layout, 0, {10}, {UtcTime{32}, "own", 10, Json{{"loss", 1}, {"text", "none"}}}));
    DET_TRY(target.refresh());
    DET_TRY_ASSIGN(auto const runs, target.history.load_reports({{1}, 0}));
    DET_TRY(expect(runs.size() == 1 && runs[0].metrics.size() == 23, "the reports of all ranks"));
    for (std::size_t step = 0; step < 20; ++step) {
        auto const& report = runs[0].metrics[step];
        DET_TRY(expect(report.steps_completed == step, "the reports in the order of their times"));
        DET_TRY(expect(report.rank.value == static_cast<int>(step % 2), "the rank of a report"));
    }
    DET_TRY(expect(runs[0].metrics.back().rank == Rank{10}, "the rank of a report with a text"));
    DET_TRY_ASSIGN(auto const series,
                   target.history.load_series({{1}, 0}, "training", "loss", SupersededReports::left_out));
    DET_TRY(expect(series.at(0).size() == 20, "one curve of both ranks"));
    DET_TRY(expect_series(target, "loss", SupersededReports::left_out));
    DET_TRY(expect_curves(target, "loss"));
    DET_TRY_ASSIGN(auto const best, target.history.load_best_validation({{1}, 0}, spec));
    DET_TRY(expect(best == journal::BestValidation{0.25, 10}, "the best validation of any rank"));
    return expect_as_in_journals(target, {1});
}

/// A metric of a step that several ranks have reported is that of the lowest of them.
Status the_lowest_rank_counts_for_a_step(HistoryTarget& target) {
    auto const spec = example_spec(1);
    DET_TRY_ASSIGN(auto const layout, create(target, spec));
    for (std::uint32_t number = 0; number < 2; ++number) {
        RunStarted started;
        if (number == 1) {
            started.latest_checkpoint = "00000000-0000-4000-8000-000000000001";
            started.steps_completed = 2;
        }
        DET_TRY_ASSIGN(auto run, begin_run(layout, 0, number, started));
        for (std::uint64_t step = 1 + 2 * number; step <= 4; ++step) {
            for (int rank = 2; rank >= 0; --rank) {
                MetricsReported report{UtcTime{static_cast<std::int64_t>(100 * number + 10 * step) - rank},
                                       "validation", step, Json{{"loss", 0.5 - 0.1 * rank}}};
                if (rank == 1) report.metrics = Json{{"loss", 0.0}, {"other", step}};
                report.group = step == 4 ? "training" : "validation";
                DET_TRY(rank == 0 ? run.chief.append(report)
                                  : append_of_rank(layout, number, {rank}, report));
            }
        }
    }
    DET_TRY(target.refresh());
    DET_TRY_ASSIGN(auto const best, target.history.load_best_validation({{1}, 0}, spec));
    DET_TRY(expect(best == journal::BestValidation{0.5, 1}, "the chief's value"));
    DET_TRY_ASSIGN(auto const others,
                   target.history.load_series({{1}, 0}, "validation", "other", SupersededReports::left_out));
    DET_TRY(expect(others.at(0).size() == 2 && others.at(1).size() == 1, "what only another rank has"));
    DET_TRY(expect_series(target, "loss", SupersededReports::left_out));
    DET_TRY(expect_series(target, "loss", SupersededReports::included));
    DET_TRY(expect_curves(target, "loss"));
    return expect_as_in_journals(target, {1});
}

Status the_best_validation_is_by_the_metric_of_the_specification(HistoryTarget& target) {
    auto spec = example_spec(1);
    DET_TRY_ASSIGN(auto const layout, create(target, spec));
    DET_TRY_ASSIGN(auto run, begin_run(layout, 0, 0));
    DET_TRY(run.chief.append(MetricsReported{UtcTime{1}, "training", 1, Json{{"loss", 0.01}}}));
    DET_TRY(target.refresh());
    DET_TRY_ASSIGN(auto const none, target.history.load_best_validation({{1}, 0}, spec));
    DET_TRY(expect(!none, "no validation yet"));
    DET_TRY(
        run.chief.append(MetricsReported{UtcTime{1}, "validation", 1, Json{{"loss", 0.4}, {"a b&c", 1.5}}}));
    DET_TRY(run.chief.append(
        MetricsReported{UtcTime{2}, "validation", 2, Json{{"loss", "NaN"}, {"a b&c", 2.5}}}));
    DET_TRY(
        run.chief.append(MetricsReported{UtcTime{3}, "validation", 3, Json{{"loss", 0.4}, {"a b&c", 0.5}}}));
    DET_TRY(target.refresh());
    DET_TRY_ASSIGN(auto const loss, target.history.load_best_validation({{1}, 0}, spec));
    DET_TRY(expect(loss == journal::BestValidation{0.4, 1}, "the first of the least losses"));
    spec.searcher.metric = "a b&c";
    spec.searcher.smaller_is_better = false;
    DET_TRY_ASSIGN(auto const largest, target.history.load_best_validation({{1}, 0}, spec));
    DET_TRY(expect(largest == journal::BestValidation{2.5, 2}, "the largest of another metric"));
    spec.searcher.metric = "absent";
    DET_TRY_ASSIGN(auto const absent, target.history.load_best_validation({{1}, 0}, spec));
    return expect(!absent, "none for a metric that was not reported");
}

Status expect_same_bests(HistoryTarget& target, std::uint32_t count, ExperimentSpec const& spec) {
    JournalHistory journals(target.root);
    auto const expected = journals.list_best_validations({1}, count, spec);
    auto const found = target.history.list_best_validations({1}, count, spec);
    DET_TRY(expect(found.has_value() == expected.has_value(), "an answer or an error"));
    if (!found) return expect_error(found.error(), expected.error().code);
    return expect(*found == *expected,
                  fmt::format("the best of {} trials by {}", count, spec.searcher.metric));
}

Status the_best_validations_of_all_trials_are_listed(HistoryTarget& target) {
    auto spec = example_spec(1);
    spec.trial_count = 4;
    DET_TRY_ASSIGN(auto const layout, create(target, spec));
    for (std::uint32_t const trial : {0, 1, 3}) {
        DET_TRY_ASSIGN(auto run, begin_run(layout, trial, 0));
        if (trial == 1) continue;
        DET_TRY(run.chief.append(
            MetricsReported{UtcTime{1}, "validation", 7, Json{{"loss", 0.5 * trial}, {"other", 1 + trial}}}));
    }
    DET_TRY(target.refresh());
    DET_TRY_ASSIGN(auto const all, target.history.list_best_validations({1}, 4, spec));
    DET_TRY(expect(all.size() == 4 && all[0] && !all[1] && !all[2] && all[3], "those of trials 0 and 3"));
    DET_TRY(expect(all[3] == journal::BestValidation{1.5, 7}, "the value of trial 3"));
    for (std::uint32_t const count : {0, 1, 4}) DET_TRY(expect_same_bests(target, count, spec));
    auto other = spec;
    other.searcher.metric = "other";
    DET_TRY(expect_same_bests(target, 4, other));
    spec.revisions.push_back({.number = 1, .first_runs = {{3, 1}}});
    DET_TRY(write_file(layout.spec(), render_spec(spec)));
    DET_TRY(target.refresh());
    DET_TRY(expect_same_bests(target, 4, spec));
    DET_TRY_ASSIGN(auto run, begin_run(layout, 2, 0));
    DET_TRY(write_file(layout.trial(2).run(0).chief_journal(), "no journal at all"));
    DET_TRY(target.refresh());
    return expect_same_bests(target, 4, spec);
}

Status rungs_are_sorted_by_trial(HistoryTarget& target) {
    DET_TRY_ASSIGN(auto const layout, create(target, example_spec(1)));
    DET_TRY(make_directories(layout.rung(1, 0)));
    for (auto const* entry : {"10@0.5", "2@0.25", "no entry"})
        DET_TRY(write_file(layout.rung(1, 0) / entry, ""));
    DET_TRY(target.refresh());
    DET_TRY_ASSIGN(auto const entries, target.history.load_rung({1}, 1, 0));
    JournalHistory journals(target.root);
    DET_TRY_ASSIGN(auto const expected, journals.load_rung({1}, 1, 0));
    DET_TRY(expect(entries.size() == 2, "two entries"));
    for (std::size_t at = 0; at < entries.size(); ++at) {
        DET_TRY(expect(search::rung_entry_name(entries[at]) == search::rung_entry_name(expected[at]),
                       "the entries of the journals, in order"));
    }
    DET_TRY_ASSIGN(auto const empty, target.history.load_rung({1}, 0, 3));
    return expect(empty.empty(), "no entries of a rung where no trial has arrived");
}

Status a_damaged_specification_is_named(HistoryTarget& target) {
    DET_TRY_ASSIGN(auto const layout, create(target, example_spec(1)));
    DET_TRY(write_file(layout.spec(), "{}"));
    DET_TRY(target.refresh());
    auto const damaged = target.history.load_experiment({1});
    DET_TRY(expect(!damaged, "an error"));
    DET_TRY(expect_error(damaged.error(), codes::damaged));
    return expect(
        !damaged.error().notes.empty() && damaged.error().notes[0].find("spec.json") != std::string::npos,
        "a note with the name of the file");
}

#define DET_CASE(name) \
    HistoryCase { #name, name }
constexpr std::array cases{
    DET_CASE(an_empty_root_has_no_experiments),
    DET_CASE(experiments_are_listed_by_number),
    DET_CASE(a_list_has_the_summaries_that_pass_the_filter),
    DET_CASE(a_list_follows_the_changes),
    DET_CASE(a_continued_experiment_is_not_over),
    DET_CASE(an_experiment_that_is_being_created_has_no_specification),
    DET_CASE(an_experiment_is_loaded_with_all_its_records),
    DET_CASE(claims_and_replacements_are_loaded),
    DET_CASE(reports_come_run_by_run),
    DET_CASE(many_reports_are_complete_and_in_order),
    DET_CASE(what_is_written_later_is_seen),
    DET_CASE(repeated_steps_are_superseded_and_never_the_best),
    DET_CASE(series_have_the_numbers_of_each_run),
    DET_CASE(curves_of_many_reports_are_those_of_the_journals),
    DET_CASE(ranks_report_in_turn),
    DET_CASE(the_lowest_rank_counts_for_a_step),
    DET_CASE(the_best_validation_is_by_the_metric_of_the_specification),
    DET_CASE(the_best_validations_of_all_trials_are_listed),
    DET_CASE(rungs_are_sorted_by_trial),
    DET_CASE(a_damaged_specification_is_named),
};
#undef DET_CASE

}  // namespace

std::span<HistoryCase const> history_cases() { return cases; }

}  // namespace det::tracker::history
