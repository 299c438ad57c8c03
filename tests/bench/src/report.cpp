// bench-report DIRECTORY: the time of one report of 10 metrics on the training thread. The peer formats the
// same report as a line of JSON and writes it with an unsynced write(2).
#include <det/foundation/diagnostic.hpp>
#include <det/telemetry/reporter.hpp>

#include <array>
#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <iostream>
#include <unistd.h>

#include "row.hpp"

namespace {

using namespace det;

constexpr int pair_count = 201;
constexpr int reports_per_measurement = 1000;
constexpr std::array<std::string_view, 10> names{"loss",   "accuracy", "learning_rate", "grad_norm",
                                                 "tokens", "batch_ms", "samples_s",     "entropy",
                                                 "weight", "epoch"};

template <class T>
T must(Result<T> result) {
    if (result) return *std::move(result);
    print(std::cerr, result.error(), {Colour::never, "bench-report"});
    std::quick_exit(to_int(result.error().code.exit));
}

/// The mean time of `report(step)`.
double time_s(auto const& report) {
    auto const begin = std::chrono::steady_clock::now();
    for (int step = 0; step < reports_per_measurement; ++step) report(static_cast<std::uint64_t>(step));
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() /
           reports_per_measurement;
}

std::array<Metric, names.size()> metrics_of(std::uint64_t step) {
    std::array<Metric, names.size()> metrics;
    for (std::size_t i = 0; i < names.size(); ++i)
        metrics[i] = {names[i], 1.0 / static_cast<double>(step + i + 1)};
    return metrics;
}

void write_line(int file, UtcTime time, std::uint64_t step) {
    fmt::memory_buffer line;
    fmt::format_to(std::back_inserter(line),
                   R"({{"group":"training","steps_completed":{},"time":"{}","metrics":{{)", step,
                   format_utc(time));
    char separator = ' ';
    for (auto const& metric : metrics_of(step)) {
        fmt::format_to(std::back_inserter(line), R"({}"{}":{})", separator, metric.name, metric.value);
        separator = ',';
    }
    fmt::format_to(std::back_inserter(line), "}}}}\n");
    if (::write(file, line.data(), line.size()) != static_cast<ssize_t>(line.size())) std::quick_exit(1);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::cerr << "usage: bench-report DIRECTORY\n";
        return to_int(ExitCode::usage);
    }
    std::filesystem::path const directory = argv[1];
    SystemClock clock;
    telemetry::Reporter reporter(must(journal::JournalWriter::create(directory / "journal")), clock);
    int const file = ::open((directory / "lines").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    std::vector<bench::Pair> pairs(pair_count);
    for (auto& pair : pairs) {
        pair.ours = time_s([&](std::uint64_t step) {
            (void)reporter.report(clock.now(), "training", step, metrics_of(step));
        });
        must(reporter.flush());  // not measured: a thread does this while training goes on
        pair.peer = time_s([&](std::uint64_t step) { write_line(file, clock.now(), step); });
    }
    ::close(file);
    must(reporter.close());
    pairs.erase(pairs.begin());  // fills the caches
    std::cout << bench::render(bench::summarise("report", pairs, "s", bench::Better::lower)) << '\n';
    return 0;
}
