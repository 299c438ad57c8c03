// bench-tracker-root DIRECTORY EXPERIMENTS TRIALS REPORTS: writes a root with finished experiments of so many
// trials each; every trial has one run with so many reports of two metrics. With --running the runs have not
// ended: it prints "ready" and reports once a second for each of them, until its input ends.
#include <det/foundation/clock.hpp>
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
#include <poll.h>
#include <string_view>
#include <unistd.h>
#include <vector>

namespace {

using namespace det;

template <class T>
T must(Result<T> result) {
    if (result) return *std::move(result);
    print(std::cerr, result.error(), {Colour::never, "bench-tracker-root"});
    std::quick_exit(to_int(result.error().code.exit));
}

constexpr std::int64_t second_us = 1'000'000;

/// A report is made each second.
UtcTime after(UtcTime start, std::uint64_t step) {
    return {start.microseconds + static_cast<std::int64_t>(step) * second_us};
}

/// The journals of a trial's run.
class Run {
public:
    Run(TrialLayout const& trial, std::uint32_t index, UtcTime start)
        : trial_(index),
          life_(create_life(trial.run(0))),
          journal_(must(journal::JournalWriter::create(trial.run(0).chief_journal()))) {
        RunStarted started;
        started.time = start;
        started.job = fmt::format("4711_{}", index);
        started.hosts = "node1";
        must(life_.append(started));
    }

    /// Writes the reports after step `from` up to step `to`, of so many that there will be.
    void report(std::uint64_t from, std::uint64_t to, std::uint64_t all, UtcTime start) {
        MetricFrameWriter frames;
        for (auto step = from + 1; step <= to; ++step) {
            auto const x = static_cast<double>(step) / static_cast<double>(all);
            std::array<Metric, 2> const metrics{
                Metric{"loss", std::exp(-3 * x) + 0.01 * std::sin(1000 * x + trial_)}, Metric{"accuracy", x}};
            frames.add(after(start, step), step == all ? "validation" : "training", step, metrics);
            if (step % 10'000 != 0 && step != to) continue;
            for (auto const& record : frames.take()) must(journal_.append(record));
        }
    }
    void end(UtcTime time) {
        must(life_.append(RunEnded{time, Cause::finished, NextAction::stop, 0, "finished"}));
    }

private:
    static journal::JournalWriter create_life(RunLayout const& run) {
        must(make_directories(run.path()));
        return must(journal::JournalWriter::create(run.supervisor_journal()));
    }
    std::uint32_t trial_;
    journal::JournalWriter life_;
    journal::JournalWriter journal_;
};

/// Reports once a second for all runs, until the input ends.
void report_until_input_ends(std::vector<Run>& runs, std::uint64_t reports, UtcTime start) {
    constexpr int second_ms = 1000;
    pollfd input{STDIN_FILENO, POLLIN, 0};
    for (auto step = reports; ::poll(&input, 1, second_ms) == 0; ++step) {
        for (auto& run : runs) run.report(step, step + 1, 2 * reports, start);
    }
}

}  // namespace

int main(int argc, char** argv) {
    bool const is_running = argc == 6 && std::string_view(argv[5]) == "--running";
    if (argc != 5 && !is_running) {
        std::cerr << "usage: bench-tracker-root DIRECTORY EXPERIMENTS TRIALS REPORTS [--running]\n";
        return to_int(ExitCode::usage);
    }
    RootLayout const root{std::filesystem::path(argv[1])};
    auto const experiments = static_cast<std::uint32_t>(std::stoul(argv[2]));
    auto const trials = static_cast<std::uint32_t>(std::stoul(argv[3]));
    auto const reports = std::stoull(argv[4]);
    UtcTime const start =
        is_running
            ? UtcTime{SystemClock().now().microseconds - static_cast<std::int64_t>(reports) * second_us}
            : UtcTime{1'700'000'000 * second_us};
    std::vector<Run> running;
    for (std::uint32_t id = 1; id <= experiments; ++id) {
        ExperimentLayout const layout(root, {id});
        must(make_directories(layout.events()));
        ExperimentSpec spec;
        spec.id = {id};
        spec.name = fmt::format("experiment {}", id);
        spec.trial_count = trials;
        spec.searcher.metric = "loss";
        must(write_file(layout.spec(), render_spec(spec)));
        must(journal::append_event(layout.events(), {"created", start, "me@here", Json{{"job_id", "4711"}}}));
        for (std::uint32_t trial = 0; trial < trials; ++trial) {
            Run run(layout.trial(trial), trial, start);
            run.report(0, reports, is_running ? 2 * reports : reports, start);
            if (is_running) {
                running.push_back(std::move(run));
            } else {
                run.end(after(start, reports));
            }
        }
    }
    if (is_running) {
        std::cout << "ready" << std::endl;
        report_until_input_ends(running, reports, start);
    }
    return 0;
}
