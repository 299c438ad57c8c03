// bench-series DIRECTORY [POINTS]: 1,000 pixels of a metric with a million points over HTTP, from an index of
// 100 such metrics. The peer reads the same points from the trial's journal.
#include <det/foundation/clock.hpp>
#include <det/foundation/diagnostic.hpp>
#include <det/foundation/files.hpp>
#include <det/journal/event_log.hpp>
#include <det/journal/writer.hpp>
#include <det/protocol/experiment_spec.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/metric_frames.hpp>
#include <det/tracker/history/journal_history.hpp>
#include <det/tracker/http/client.hpp>
#include <det/tracker/http/server.hpp>
#include <det/tracker/ingest/live_index.hpp>
#include <det/tracker/ingest/rebuild.hpp>

#include <chrono>
#include <fmt/format.h>
#include <iostream>
#include <unistd.h>

#include "fake_slurm.hpp"
#include "row.hpp"
#include "tracker/api/api.hpp"

namespace {

using namespace det;
using namespace det::tracker;

constexpr std::uint32_t trials = 10;
constexpr std::size_t metrics_per_trial = 10;
constexpr double first_answer_max_s = 0.020;
constexpr int peer_count = 3;

template <class T>
T must(Result<T> result) {
    if (result) return *std::move(result);
    print(std::cerr, result.error(), {Colour::never, "bench-series"});
    std::quick_exit(to_int(result.error().code.exit));
}

double seconds(auto const& work) {
    auto const begin = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::string name_of(std::size_t metric) { return fmt::format("metric{}", metric); }

void write_trial(ExperimentLayout const& layout, std::uint32_t trial, std::uint64_t points) {
    auto const run = layout.trial(trial).run(0);
    must(make_directories(run.path()));
    auto life = must(journal::JournalWriter::create(run.supervisor_journal()));
    must(life.append(RunStarted{}));
    must(life.append(RunEnded{UtcTime{2}, Cause::finished, NextAction::stop, 0, "finished"}));
    auto journal = must(journal::JournalWriter::create(run.chief_journal()));
    std::vector<std::string> names;
    for (std::size_t metric = 0; metric < metrics_per_trial; ++metric) names.push_back(name_of(metric));
    MetricFrameWriter frames;
    std::vector<Metric> metrics(names.size());
    for (std::uint64_t step = 0; step < points; ++step) {
        for (std::size_t i = 0; i < names.size(); ++i)
            metrics[i] = {names[i], static_cast<double>((step * (i + 7919)) % 100'003) / 1e5};
        frames.add({1'700'000'000'000'000 + static_cast<std::int64_t>(step) * 10'337}, "training", step,
                   metrics);
        if (step % 10'000 != 9'999 && step + 1 != points) continue;
        for (auto const& record : frames.take()) must(journal.append(record));
    }
}

RootLayout write_root(std::filesystem::path const& path, std::uint64_t points) {
    RootLayout root(path);
    ExperimentLayout const layout(root, {1});
    must(make_directories(layout.events()));
    ExperimentSpec spec;
    spec.id = {1};
    spec.name = "series";
    spec.trial_count = trials;
    spec.searcher.metric = "metric0";
    must(write_file(layout.spec(), render_spec(spec)));
    must(journal::append_event(layout.events(), {"created", UtcTime{1}, "me@here", Json{{"job_id", "1"}}}));
    for (std::uint32_t trial = 0; trial < trials; ++trial) write_trial(layout, trial, points);
    return root;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2 && argc != 3) {
        std::cerr << "usage: bench-series DIRECTORY [POINTS]\n";
        return to_int(ExitCode::usage);
    }
    std::filesystem::path const directory = argv[1];
    std::uint64_t const points = argc == 3 ? std::stoull(argv[2]) : 1'000'000;
    auto const root = write_root(directory / "root", points);
    auto const index = directory / "index";
    must(ingest::rebuild_index(index, root));
    auto const live = must(ingest::LiveIndex::open({.path = index, .root = root}));
    SystemClock clock;
    FakeSlurm slurm;
    api::Api api({*live, root, {}, clock, slurm});
    auto const sockets = directory / "s";
    must(make_directory(sockets, 0700));
    http::ServerSettings settings;
    settings.unix_socket = sockets / "s";
    settings.access.owner = ::geteuid();
    auto const server = must(http::Server::start(settings, http::RouteTable(api.routes())));
    auto const client = http::Client::make(http::UnixEndpoint{sockets / "s"});

    std::vector<bench::Pair> all, first;
    history::JournalHistory journals(root);
    for (std::uint32_t trial = 0; trial < trials; ++trial) {
        for (std::size_t metric = 0; metric < metrics_per_trial; ++metric) {
            auto const target = fmt::format("/v1/trials/1.{}/series?group=training&metric={}&width=1000",
                                            trial, name_of(metric));
            auto const ours = seconds([&] { must(client->get(target)); });
            if (first.empty()) first.push_back({ours, first_answer_max_s});
            double peer = all.empty() ? 0 : all.back().peer;  // the peer takes long: a few times are enough
            if (metric == 0 && trial < peer_count) {
                peer = seconds([&] {
                    must(journals.load_series({{1}, trial}, "training", name_of(metric),
                                              history::SupersededReports::left_out));
                });
            }
            all.push_back({ours, peer});
        }
    }
    std::cout << bench::render(bench::summarise("series", all, "s", bench::Better::lower)) << '\n';
    std::cout << bench::render(bench::summarise("series-first", first, "s", bench::Better::lower)) << '\n';
    return 0;
}
