#pragma once
// A root with experiments whose trials run, report, fail, resume and end, step by step.
#include <det/foundation/files.hpp>
#include <det/journal/event_log.hpp>
#include <det/journal/frame.hpp>
#include <det/journal/writer.hpp>
#include <det/protocol/experiment_spec.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/metric_frames.hpp>

#include <map>
#include <random>
#include <vector>

#include "check_result.hpp"
#include "temporary_directory.hpp"

namespace det::tracker {

/// One run that is being written.
class ExampleRun {
public:
    ExampleRun(RunLayout const& layout, std::uint32_t number, std::uint64_t resumed_from)
        : layout_(layout), steps_(resumed_from) {
        must(make_directories(layout.path()));
        life_.emplace(must(journal::JournalWriter::create(layout.supervisor_journal())));
        RunStarted started;
        started.time = UtcTime{1'000'000 * (number + 1)};
        started.job = "4711_0";
        started.steps_completed = resumed_from;
        if (resumed_from > 0) started.latest_checkpoint = "c0ffee";
        must(life_->append(started));
        journal_.emplace(must(journal::JournalWriter::create(layout.chief_journal())));
    }

    std::uint64_t steps() const { return steps_; }

    /// Makes `count` reports of `columns` metrics in binary frames.
    void report(std::size_t count, std::size_t columns, std::mt19937_64& random) {
        std::vector<std::string> names;
        for (std::size_t i = 0; i < columns; ++i) names.push_back("m" + std::to_string(i));
        for (std::size_t i = 0; i < count; ++i) {
            ++steps_;
            std::vector<Metric> metrics;
            for (auto const& name : names)
                metrics.push_back({name, static_cast<double>(random() % 1000) / 64.0, MetricType::real});
            frames_.add(next_time(), "training", steps_, metrics);
            if (steps_ % 10 == 0) {
                Metric const loss{"loss", random() % 50 == 0 ? NAN : static_cast<double>(random() % 997)};
                frames_.add(next_time(), "validation", steps_, {&loss, 1});
            }
        }
        for (auto const& record : frames_.take()) must(journal_->append(record));
    }
    /// Makes a report that a binary frame cannot hold, and one in the older form.
    void report_json(std::mt19937_64& random) {
        ++steps_;
        must(journal_->append(
            MetricsReported{next_time(), "training", steps_,
                            Json{{"m0", "text"}, {"m1", static_cast<double>(random() % 9)}}}));
        must(journal_->append(MetricsReported{next_time(), "validation", steps_,
                                              Json{{"loss", random() % 900}, {"ok", true}, {"x", "NaN"}}}));
    }
    void append(Record const& record) { must(journal_->append(record)); }
    void end(Cause cause, NextAction next) {
        must(life_->append(RunEnded{next_time(), cause, next, 0, "over"}));
    }
    RunLayout const& layout() const { return layout_; }

private:
    UtcTime next_time() { return UtcTime{time_ += 1234}; }

    RunLayout layout_;
    std::optional<journal::JournalWriter> life_;
    std::optional<journal::JournalWriter> journal_;
    MetricFrameWriter frames_;
    std::uint64_t steps_;
    std::int64_t time_ = 1'700'000'000'000'000;
};

class ExampleRoot {
public:
    explicit ExampleRoot(std::filesystem::path path, std::uint64_t seed = 1) : root(path), random_(seed) {}

    RootLayout root;

    ExperimentLayout create(std::uint32_t id, std::uint32_t trials) const {
        ExperimentLayout const layout(root, {id});
        must(make_directories(layout.events()));
        ExperimentSpec spec;
        spec.id = {id};
        spec.name = "example";
        spec.trial_count = trials;
        spec.searcher.metric = "loss";
        spec.searcher.smaller_is_better = true;
        must(write_file(layout.spec(), render_spec(spec)));
        must(journal::append_event(layout.events(),
                                   {"created", UtcTime{1}, "me@here", Json{{"job_id", "4711"}}}));
        return layout;
    }

    /// Does something at random to a trial: its run reports, ends, or a new run begins.
    void step(TrialId id) {
        auto& trial = trials_[id];
        auto const layout = ExperimentLayout(root, id.experiment).trial(id.index);
        if (!trial.run) {
            auto const resumed_from = trial.saved_steps;
            trial.run.emplace(layout.run(trial.next_run), trial.next_run, resumed_from);
            ++trial.next_run;
            return;
        }
        switch (random_() % 8) {
            case 0:
                trial.run->report_json(random_);
                break;
            case 1:
                trial.saved_steps = trial.run->steps();
                trial.run->append(CheckpointCommitted{UtcTime{5}, "c0ffee", trial.saved_steps, Json::object(),
                                                      Json::object()});
                break;
            case 2:
                trial.run->end(Cause::preempted, NextAction::requeue);
                trial.run.reset();
                break;
            case 3:
                trial.run->append(ProgressReported{UtcTime{6}, 0.5});
                break;
            default:
                trial.run->report(1 + random_() % 400, 1 + random_() % 3, random_);
        }
    }
    void finish(TrialId id) {
        auto& trial = trials_[id];
        if (!trial.run) step(id);
        trial.run->end(Cause::finished, NextAction::stop);
        trial.run.reset();
    }
    std::mt19937_64& random() { return random_; }
    ExampleRun& run_of(TrialId id) { return *trials_[id].run; }

private:
    struct Trial {
        std::optional<ExampleRun> run;
        std::uint32_t next_run = 0;
        std::uint64_t saved_steps = 0;
    };
    std::mt19937_64 random_;
    std::map<TrialId, Trial> trials_;
};

}  // namespace det::tracker
