// bench-tracker-root DIRECTORY EXPERIMENTS TRIALS REPORTS: writes a root with finished experiments of so many
// trials each; every trial has one run with so many reports of two metrics.
#include <det/foundation/diagnostic.hpp>
#include <det/foundation/files.hpp>
#include <det/journal/event_log.hpp>
#include <det/journal/writer.hpp>
#include <det/protocol/directory_layout.hpp>
#include <det/protocol/experiment_spec.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/metric_frames.hpp>

#include <array>
#include <cmath>
#include <fmt/format.h>
#include <iostream>

namespace {

using namespace det;

template <class T>
T must(Result<T> result) {
    if (result) return *std::move(result);
    print(std::cerr, result.error(), {Colour::never, "bench-tracker-root"});
    std::quick_exit(to_int(result.error().code.exit));
}

UtcTime time_of(std::uint64_t step) {
    return {1'700'000'000'000'000 + static_cast<std::int64_t>(step) * 1'000'000};
}

void write_trial(TrialLayout const& layout, std::uint32_t trial, std::uint64_t reports) {
    auto const run = layout.run(0);
    must(make_directories(run.path()));
    auto life = must(journal::JournalWriter::create(run.life()));
    RunStarted started;
    started.time = time_of(0);
    started.job = fmt::format("4711_{}", trial);
    started.hosts = "node1";
    must(life.append(started));
    must(life.append(RunEnded{time_of(reports), Cause::finished, NextAction::stop, 0, "finished"}));
    auto journal = must(journal::JournalWriter::create(run.journal()));
    MetricFrameWriter frames;
    for (std::uint64_t step = 1; step <= reports; ++step) {
        auto const x = static_cast<double>(step) / static_cast<double>(reports);
        std::array<Metric, 2> const metrics{
            Metric{"loss", std::exp(-3 * x) + 0.01 * std::sin(1000 * x + trial)}, Metric{"accuracy", x}};
        frames.add(time_of(step), step == reports ? "validation" : "training", step, metrics);
        if (step % 10'000 != 0 && step != reports) continue;
        for (auto const& record : frames.take()) must(journal.append(record));
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 5) {
        std::cerr << "usage: bench-tracker-root DIRECTORY EXPERIMENTS TRIALS REPORTS\n";
        return to_int(ExitCode::usage);
    }
    RootLayout const root{std::filesystem::path(argv[1])};
    auto const experiments = static_cast<std::uint32_t>(std::stoul(argv[2]));
    auto const trials = static_cast<std::uint32_t>(std::stoul(argv[3]));
    for (std::uint32_t id = 1; id <= experiments; ++id) {
        ExperimentLayout const layout(root, {id});
        must(make_directories(layout.events()));
        ExperimentSpec spec;
        spec.id = {id};
        spec.name = fmt::format("experiment {}", id);
        spec.trial_count = trials;
        spec.searcher.metric = "loss";
        must(write_file(layout.spec(), render_spec(spec)));
        must(journal::append_event(layout.events(),
                                   {"created", time_of(0), "me@here", Json{{"job_id", "4711"}}}));
        for (std::uint32_t trial = 0; trial < trials; ++trial)
            write_trial(layout.trial(trial), trial, std::stoull(argv[4]));
    }
    return 0;
}
