// web-root DIRECTORY [ROOT]: writes a root (default: DIRECTORY/root) with experiments of all kinds that the
// page shows. det-submit's own command creates them, with a fake Slurm. Then this program writes the journals
// that jobs would write.
#include <det/foundation/files.hpp>
#include <det/journal/event_log.hpp>
#include <det/journal/metric_journal.hpp>
#include <det/journal/reader.hpp>
#include <det/journal/writer.hpp>
#include <det/protocol/checkpoint_manifest.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/metric_frames.hpp>
#include <det/protocol/rank_failure.hpp>
#include <det/search/asha.hpp>
#include <det/search/rung.hpp>
#include <det/search/search.hpp>
#include <det/telemetry/waits/wait_reports.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <iostream>
#include <map>
#include <sstream>

#include "arguments.hpp"
#include "fake_slurm.hpp"

namespace {

using namespace det;

template <class T>
T must(Result<T> result) {
    if (result) return *std::move(result);
    print(std::cerr, result.error(), {Colour::never, "web-root"});
    std::quick_exit(to_int(result.error().code.exit));
}

/// The time at which the examples were created: an hour before now, so that the page shows recent times.
UtcTime const beginning{(SystemClock().now().microseconds / 1'000'000 - 3600) * 1'000'000};

UtcTime at(double seconds) { return {beginning.microseconds + std::llround(seconds * 1e6)}; }

class FixedClock final : public Clock {
public:
    UtcTime now() const override { return beginning; }
    std::chrono::steady_clock::time_point steady_now() const override { return {}; }
    void sleep_for(std::chrono::milliseconds) override {}
};

/// Creates experiments in a root by the command `experiment create`.
class Creator {
public:
    Creator(std::filesystem::path const& directory, std::filesystem::path const& root_path)
        : root(root_path), work_(directory / "work") {
        must(make_directories(work_ / "code"));
        must(write_file(work_ / "code" / "train.py", "print('training')\n"));
        slurm_.partition_list = {
            {"gpu", true, true, "REQUEUE", std::chrono::seconds(30), {{4, 8, "idle", "gpu:4"}}}};
    }

    ExperimentLayout create(std::string const& config, std::string const& options = {}) {
        must(write_file(work_ / "exp.yaml", config));
        std::vector<std::string> words{"experiment", "create", (work_ / "exp.yaml").string(),
                                       (work_ / "code").string()};
        std::istringstream more(options);
        for (std::string word; more >> word;) words.push_back(word);
        run(std::move(words));
        return ExperimentLayout(root, {++count_});
    }
    void run(std::vector<std::string> const& words) {
        std::ostringstream answer, messages;
        Environment const environment{{{"DET_ROOT", root.path().string()}, {"USER", "researcher"}}};
        auto invocation = must(cli::parse_command_line(words));
        cli::Session session(environment, answer, messages, {}, clock_, slurm_, invocation.format, {});
        if (invocation.command->run(session)) return;
        std::cerr << "web-root: det-submit " << words[1] << ": " << messages.str() << answer.str();
        std::quick_exit(1);
    }

    RootLayout root;

private:
    std::filesystem::path work_;
    FakeSlurm slurm_;
    FixedClock clock_;
    std::uint32_t count_ = 0;
};

std::string config(std::string const& name, std::string const& searcher, std::string const& hyperparameters) {
    return fmt::format(
        "name: {}\nentrypoint: python3 train.py\nlabels: [vision, {}]\nsearcher: {}\nresources: "
        "{{slots_per_trial: 8}}\n"
        "hyperparameters: {}\n",
        name, name.substr(0, name.find(' ')), searcher, hyperparameters);
}

constexpr char single[] = "{name: single, metric: loss, smaller_is_better: true}";
constexpr char fixed_values[] = "{learning_rate: 0.05, batch_size: 64, optimizer: sgd}";
constexpr char ranges[] =
    "{learning_rate: {type: log, base: 10, minval: -4, maxval: -1}, batch_size: {type: categorical, vals: "
    "[32, 64, 128]}, "
    "dropout: {type: double, minval: 0.0, maxval: 0.5}, optimizer: {type: categorical, vals: [sgd, adam]}}";

/// Writes the files of a run of a trial. Times are in seconds since `beginning`.
class ExampleRun {
public:
    ExampleRun(TrialLayout const& trial, std::uint32_t number, double begin, std::uint64_t from_step = 0,
               std::string const& latest_checkpoint = {}, std::string const& job = "4711_0")
        : layout(trial.run(number)), begin_(begin) {
        must(make_directories(layout.path()));
        life_.emplace(must(journal::JournalWriter::create(layout.supervisor_journal())));
        RunStarted started;
        started.time = at(begin);
        started.job = job;
        started.restart_count = number;
        started.hosts = "node[1-2]";
        started.steps_completed = from_step;
        started.latest_checkpoint = latest_checkpoint;
        append_life(started);
        chief_.emplace(must(journal::JournalWriter::create(layout.chief_journal())));
    }

    void append_life(Record const& record) { must(life_->append(record)); }
    void append(Record const& record) { must(chief_->append(record)); }
    void append(EncodedRecord const& record) { must(chief_->append(record)); }
    void end(double time, Cause cause, NextAction next, int exit_code, std::string message) {
        append_life(RunEnded{at(time), cause, next, exit_code, std::move(message)});
    }
    void finish(double time) { end(time, Cause::finished, NextAction::stop, 0, "the program finished"); }

    /// Reports training metrics for each step and validation metrics for every 25th. The loss falls to
    /// `floor`, with noise.
    void train(std::uint64_t from, std::uint64_t to, double floor, double seconds_per_step, unsigned seed) {
        append(FirstStep{at(begin_ + 2)});
        MetricFrameWriter frames;
        for (auto step = from + 1; step <= to; ++step) {
            auto const x = static_cast<double>(step);
            auto const noise = 0.03 * std::sin(x * 1.7 + seed) * std::cos(x * 0.37 * (seed + 1));
            auto const loss = floor + (1.8 - floor) * std::exp(-x / 150) + noise;
            auto const time = at(begin_ + 2 + seconds_per_step * static_cast<double>(step - from));
            std::array<Metric, 2> const training{Metric{"loss", loss},
                                                 Metric{"learning_rate", 0.05 * std::exp(-x / 400)}};
            frames.add(time, "training", step, training);
            if (step % 25 != 0) continue;
            std::array<Metric, 2> const validation{Metric{"loss", loss + 0.05 + 0.02 * std::sin(x / 90)},
                                                   Metric{"accuracy", 1 - 0.5 * loss / 1.8}};
            frames.add(time, "validation", step, validation);
        }
        for (auto const& record : frames.take()) append(record);
    }
    /// Records a checkpoint and writes its manifest, except for every third, which counts as deleted. Returns
    /// the UUID.
    std::string save(double time, std::uint64_t step, int number) {
        // .../root/experiments/E/trials/T/runs/R
        auto const experiment = layout.path().parent_path().parent_path().parent_path().parent_path();
        auto const uuid =
            fmt::format("c0ffee00-0000-4000-8000-{:04}{:08}", std::stoi(experiment.filename()), number);
        append(CheckpointCommitted{at(time), uuid, step,
                                   Json{{"weights.pt", 45'000'000 + number}, {"optimizer.pt", 90'000'000}},
                                   Json{{"steps_completed", step}}, 0.8});
        if (number % 3 == 2) return uuid;
        auto const directory = experiment.parent_path().parent_path() / "checkpoints" / uuid;
        must(make_directories(directory));
        CheckpointManifest manifest;
        manifest.uuid = uuid;
        manifest.steps_completed = step;
        manifest.time = at(time);
        manifest.metadata = Json{{"steps_completed", step}};
        for (auto const* name : {"optimizer.pt", "weights.pt"}) {
            CheckpointFile file;
            file.path = name;
            manifest.files.push_back(file);
        }
        must(write_file(directory / manifest_name, render_manifest(manifest)));
        return uuid;
    }
    void log(int node, double time, std::string const& text, int rank = 0) const {
        append_text(layout.node_log(node), fmt::format("{} [rank={}] {}\n", log_time(time), rank, text));
    }
    static void append_text(std::filesystem::path const& path, std::string const& text) {
        auto const before = read_file(path);
        must(write_file(path, (before ? *before : std::string()) + text));
    }
    static std::string log_time(double time) { return format_utc(at(time)); }

    RunLayout const layout;

private:
    double begin_;
    std::optional<journal::JournalWriter> life_, chief_;
};

/// Writes a log like that of a training: `lines` lines of 8 ranks on 2 nodes.
void write_logs(ExampleRun const& run, double begin, int lines) {
    std::array<std::string, 2> texts;
    for (int line = 0; line < lines; ++line) {
        auto const rank = line % 8;
        auto const level = line % 97 == 96 ? "WARNING" : line % 23 == 0 ? "DEBUG" : "INFO";
        texts[static_cast<std::size_t>(rank / 4)] += fmt::format(
            "{} [rank={}] {}: [{}] trainer: step {} loss {:.4f}\n", ExampleRun::log_time(begin + 0.01 * line),
            rank, level, 1000 + rank, line / 8, 1.8 * std::exp(-line / 900.0));
    }
    for (int node = 0; node < 2; ++node)
        must(write_file(run.layout.node_log(node), texts[static_cast<std::size_t>(node)]));
}

void write_system_metrics(ExampleRun const& run, double begin, int seconds) {
    for (int node = 0; node < 2; ++node) {
        auto journal = must(journal::MetricJournal::open(run.layout.node_metrics(node)));
        std::vector<std::string> names;  // a Metric refers to its name
        for (int gpu = 0; gpu < 4; ++gpu) names.push_back(fmt::format("gpu_util GPU-{}{}", node, gpu));
        for (int second = 0; second < seconds; second += 5) {
            auto const t = static_cast<double>(second);
            std::vector<Metric> gpus;
            for (int gpu = 0; gpu < 4; ++gpu)
                gpus.push_back({names[static_cast<std::size_t>(gpu)], 82 + 12 * std::sin(t / 17 + gpu)});
            journal.add(at(begin + t), "gpu", gpus);
            journal.add(at(begin + t), "cpu",
                        std::vector<Metric>{{"cpu_util_simple", 35 + 8 * std::cos(t / 23)}});
            journal.add(at(begin + t), "memory", std::vector<Metric>{{"memory_free", 410 - t / 20}});
        }
        must(journal.write());
    }
}

/// Writes that the other ranks wait mostly for rank 5 and a little for rank 1. Rank 5 does not wait.
void write_waits(ExampleRun const& run, double time) {
    for (int node = 0; node < 2; ++node) {
        auto journal = must(journal::MetricJournal::open(run.layout.node_waits(node)));
        for (int rank = 4 * node; rank < 4 * node + 4; ++rank) {
            auto const operations = fmt::format("operations {}", rank),
                       waited = fmt::format("waited.allreduce {}", rank);
            auto const for_5 = fmt::format("waited_for.5 {}", rank),
                       for_1 = fmt::format("waited_for.1 {}", rank);
            std::vector<Metric> metrics{{operations, 400}};
            if (rank != 5) metrics.push_back({waited, 14.0 + rank});
            if (rank != 5) metrics.push_back({for_5, 13.0 + rank});
            if (rank != 5 && rank != 1) metrics.push_back({for_1, 1.0});
            journal.add(at(time), telemetry::waits_group, metrics);
        }
        must(journal.write());
    }
}

void make_completed(Creator& creator) {
    auto const experiment =
        creator.create(config("digits baseline", single, fixed_values) +
                       "description: the baseline of all comparisons\nprofiling: {enabled: true}\n");
    ExampleRun run(experiment.trial(0), 0, 60);
    run.append_life(JobAllocated{at(60), at(58), at(5), at(1290), 2});
    run.train(0, 600, 0.12, 2, 1);
    for (int i = 1; i <= 3; ++i) run.save(60 + 400 * i, static_cast<std::uint64_t>(200 * i), i);
    write_logs(run, 61, 4000);
    write_system_metrics(run, 62, 1200);
    write_waits(run, 1270);
    run.append(ProgressReported{at(1280), 1.0});
    run.append(AlertRaised{at(700), "slow data", "the loader takes 40 % of each step", "warn"});
    run.finish(1285);
}

/// A traceback as long as those of frameworks: the exception is its last line.
std::string traceback() {
    std::string text =
        "Traceback (most recent call last):\n  File \"train.py\", line 87, in <module>\n    "
        "main(parse_args())\n"
        "  File \"train.py\", line 61, in main\n    loss = model(batch).mean()\n";
    for (int layer = 0; layer < 12; ++layer)
        text +=
            "  File \"/opt/venv/lib/python3.11/site-packages/torch/nn/modules/module.py\", line 1736, in "
            "_wrapped_call_impl\n    return self._call_impl(*args, **kwargs)\n";
    return text + "RuntimeError: CUDA out of memory. Tried to allocate 2.50 GiB";
}

void make_failed(Creator& creator) {
    auto const experiment = creator.create(
        config("fails large-batch", single, "{learning_rate: 0.05, batch_size: 4096, optimizer: sgd}"));
    for (std::uint32_t number = 0; number < 2; ++number) {
        auto const begin = 100 + 200.0 * number;
        ExampleRun run(experiment.trial(0), number, begin);
        run.append_life(JobAllocated{at(begin), at(98), at(70), at(500), 2});
        run.train(0, 40, 0.5, 2, 3);
        run.log(1, begin + 80, "INFO: [1005] trainer: step 40", 5);
        std::istringstream text(traceback());
        for (std::string line; std::getline(text, line);) run.log(1, begin + 83, line, 5);
        run.log(0, begin + 84, "ERROR: [1000] comm: lost rank 5", 0);
        RankFailure end{at(begin + 83), 5u, "node2", 1, 0, traceback(), {}, {}};
        RankFailure other{at(begin + 84), 0u, "node1", 1, 0, "ERROR: lost rank 5", {}, "rank 5 on node2"};
        must(write_file(RunLayout::failures_beside(run.layout.node_log(1)), render_rank_failure(end)));
        must(write_file(RunLayout::failures_beside(run.layout.node_log(0)), render_rank_failure(other)));
        auto const next = number == 0 ? NextAction::restart_in_place : NextAction::stop;
        run.end(begin + 85, Cause::failed, next, 1,
                number == 0 ? "rank 5 on node2 ended with exit code 1"
                            : "rank 5 on node2 ended with exit code 1 (restart 1 of 1)");
    }
}

void make_preempted(Creator& creator) {
    auto const experiment = creator.create(config("preempted twice", single, fixed_values));
    auto const trial = experiment.trial(0);
    std::uint64_t saved = 0;
    std::string latest_checkpoint;
    for (std::uint32_t number = 0; number < 3; ++number) {
        auto const begin = 60 + 700.0 * number;
        ExampleRun run(trial, number, begin, saved, latest_checkpoint);
        run.append_life(JobAllocated{at(begin), at(begin - 2), at(begin - 60), at(begin + 430), 2});
        run.train(saved, saved + 200, 0.2, 2, 5 + number);
        latest_checkpoint = run.save(begin + 380, saved + 180, 12 + 3 * static_cast<int>(number));
        write_logs(run, begin, 400);
        if (number == 2) {
            run.finish(begin + 420);
            continue;
        }
        run.append(PreemptionAcknowledged{at(begin + 405), at(begin + 400)});
        run.end(begin + 428, Cause::preempted, NextAction::requeue, 0,
                "Slurm preempted the job; its state is saved");
        run.append_life(JobRequeued{at(begin + 430)});
        saved += 180;
    }
}

/// Makes a search with the journals, rungs and decisions that supervisors would write.
void make_search(Creator& creator, std::string const& name, std::string const& searcher) {
    auto const experiment =
        creator.create(config(name, searcher, ranges) + "reproducibility: {experiment_seed: 1}\n");
    auto const spec = must(journal::load_spec(experiment));
    auto const draws = search::draw_trials(spec, spec.trial_count);
    std::optional<search::AshaSearch> asha;
    if (search::is_asha(spec.searcher.name)) {
        if (auto planned = search::plan_asha(spec.searcher)) asha = *std::move(planned);
    }
    std::map<std::pair<std::uint32_t, std::size_t>, std::vector<search::RungEntry>> rungs;
    for (std::uint32_t index = 0; index < spec.trial_count; ++index) {
        auto const& values = *draws[index].hyperparameters;
        auto const rate = std::log10(values.at("learning_rate").get<double>());
        auto const floor =
            0.1 + 0.12 * (rate + 2.2) * (rate + 2.2) + 0.5 * values.at("dropout").get<double>() * 0.4;
        auto const begin = 60 + 130.0 * (index / 4);
        ExampleRun run(experiment.trial(index), 0, begin, 0, {}, fmt::format("4712_{}", index));
        std::uint64_t steps = 400;
        bool is_stopped = false;
        if (asha) {
            auto const bracket = search::BracketAssignment(*asha).bracket_of(index);
            auto const& lengths = asha->brackets[bracket].rung_lengths;
            for (std::uint32_t rung = 0; rung < lengths.size(); ++rung) {
                steps = lengths[rung];
                auto& entries = rungs[{bracket, rung}];
                entries.push_back({index, floor + 0.8 / static_cast<double>(rung + 1)});
                must(make_directories(experiment.rung(bracket, rung)));
                must(
                    write_file(experiment.rung(bracket, rung) / search::rung_entry_name(entries.back()), ""));
                auto const better = static_cast<std::uint32_t>(std::ranges::count_if(
                    entries, [&](auto const& entry) { return entry.metric < entries.back().metric; }));
                auto const kept = search::count_kept(entries.size(), asha->divisor);
                bool const is_last = rung + 1 == lengths.size();
                is_stopped = !is_last && better >= kept;
                SearchDecision decision;
                decision.time = at(begin + 20.0 * (rung + 1));
                decision.steps_completed = steps;
                decision.bracket = bracket;
                decision.rung = rung;
                decision.entry = search::rung_entry_name(entries.back());
                decision.trials = fmt::format("0-{}", index);
                decision.better_trials = better;
                decision.kept_trials = static_cast<std::uint32_t>(kept);
                decision.decision = is_last ? "complete" : is_stopped ? "stop" : "advance";
                run.append_life(decision);
                if (is_stopped) break;
            }
        }
        run.train(0, steps, floor, 100.0 / static_cast<double>(steps), index);
        if (index % 3 == 0) run.save(begin + 100, steps, 100 + static_cast<int>(index));
        if (is_stopped) {
            run.end(begin + 110, Cause::stopped_by_search, NextAction::stop, 0,
                    "the search stopped the trial");
        } else {
            run.finish(begin + 110);
        }
    }
}

constexpr char markup[] = "<img src=x onerror=window.hacked=1><script>window.hacked=1</script>";

void make_hostile(Creator& creator) {
    auto const experiment = creator.create(
        fmt::format("name: '{0}'\ndescription: '{0} \"quoted\" & more'\nentrypoint: python3 "
                    "train.py\nlabels: ['{0}', '](javascript:alert(1))']\n"
                    "searcher: {1}\nresources: {{slots_per_trial: 8}}\nhyperparameters: {{'{0}': '{0}'}}\n",
                    markup, single));
    ExampleRun run(experiment.trial(0), 0, 60);
    MetricFrameWriter frames;
    for (std::uint64_t step = 1; step <= 20; ++step) {
        std::array<Metric, 3> const metrics{Metric{markup, 1.0 / static_cast<double>(step)},
                                            Metric{"loss", NAN},
                                            Metric{"\x1b[31mred\u202e", 1e300 * static_cast<double>(step)}};
        frames.add(at(61 + static_cast<double>(step)), "training", step, metrics);
    }
    for (auto const& record : frames.take()) run.append(record);
    run.append(StatusSet{at(70), markup});
    run.append(AlertRaised{at(71), markup, markup, "error"});
    run.log(0, 62, markup);
    run.log(0, 63, "\x1b[31mred\x1b[0m \x1b]0;title\x07 \x08\x08 \u202e reversed \xff\xfe invalid");
    run.log(0, 64, std::string(5000, 'x'));
    RankFailure const end{at(80), 0u, markup, 1, 0, markup, {}, {}};
    must(write_file(RunLayout::failures_beside(run.layout.node_log(0)), render_rank_failure(end)));
    run.end(81, Cause::failed, NextAction::stop, 1, markup);
}

/// Makes a trial that runs and reports no progress: the page knows it from the steps and the length.
void make_running(Creator& creator) {
    auto const experiment = creator.create(config(
        "still running", "{name: single, metric: loss, smaller_is_better: true, max_length: {batches: 700}}",
        fixed_values));
    ExampleRun run(experiment.trial(0), 0, 60);
    run.train(0, 400, 0.3, 2, 9);
    MetricFrameWriter frames;
    for (int layer = 0; layer < 12; ++layer) {
        auto const name = fmt::format("gradients/layer{}", layer);
        for (std::uint64_t step = 10; step <= 400; step += 10) {
            std::array<Metric, 1> const norm{
                Metric{name, (1 + layer) * std::exp(-static_cast<double>(step) / 200)}};
            frames.add(at(62 + 2 * static_cast<double>(step)), "training", step, norm);
        }
    }
    for (auto const& record : frames.take()) run.append(record);
    run.append(StatusSet{at(660), "epoch 5 of 12"});
    write_logs(run, 61, 800);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2 && argc != 3) {
        std::cerr << "usage: web-root DIRECTORY [ROOT]\n";
        return to_int(ExitCode::usage);
    }
    std::filesystem::path const directory(argv[1]);
    Creator creator(directory, argc == 3 ? std::filesystem::path(argv[2]) : directory / "root");
    make_completed(creator);
    make_search(
        creator, "asha search",
        "{name: adaptive_asha, metric: loss, smaller_is_better: true, max_trials: 40, max_time: 1600, "
        "time_metric: batches, "
        "mode: standard, divisor: 4, max_rungs: 3}");
    make_search(
        creator, "random search",
        "{name: random, metric: loss, smaller_is_better: true, max_trials: 24, max_length: {batches: 400}}");
    make_failed(creator);
    make_preempted(creator);
    make_hostile(creator);
    make_running(creator);
    creator.create(config("just created", single, fixed_values));
    return 0;
}
