// bench-ingest DIRECTORY [POINTS]: reading journals into an index. The peer inserts the same points into an
// SQLite table by one prepared statement, 5,000 rows a transaction.
#include <det/foundation/diagnostic.hpp>
#include <det/foundation/files.hpp>
#include <det/journal/event_log.hpp>
#include <det/journal/writer.hpp>
#include <det/protocol/experiment_spec.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/metric_frames.hpp>
#include <det/tracker/index/tables.hpp>
#include <det/tracker/ingest/ingester.hpp>
#include <det/tracker/ingest/rebuild.hpp>

#include <array>
#include <chrono>
#include <fmt/format.h>
#include <iostream>
#include <sqlite3.h>

#include "row.hpp"

namespace {

using namespace det;
using namespace det::tracker;

constexpr int pair_count = 4;
constexpr std::uint32_t trials = 10;
constexpr std::array<std::string_view, 2> names{"loss", "accuracy"};
constexpr int rows_per_transaction = 5000;
constexpr double bytes_per_point_max = 16;
constexpr double rebuild_rate_min = 4e6;  // points a second

template <class T>
T must(Result<T> result) {
    if (result) return *std::move(result);
    print(std::cerr, result.error(), {Colour::never, "bench-ingest"});
    std::quick_exit(to_int(result.error().code.exit));
}

double seconds(auto const& work) {
    auto const begin = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double value_of(std::uint64_t step, std::size_t metric) {
    return 1.0 / static_cast<double>(step + 3 * metric + 1);
}
std::int64_t time_of(std::uint64_t step) {
    return 1'700'000'000'000'000 + static_cast<std::int64_t>(step) * 10'337;
}

void write_trial(ExperimentLayout const& layout, std::uint32_t trial, std::uint64_t reports) {
    auto const run = layout.trial(trial).run(0);
    must(make_directories(run.path()));
    auto life = must(journal::JournalWriter::create(run.supervisor_journal()));
    RunStarted started;
    started.job = "1";
    must(life.append(started));
    must(life.append(RunEnded{UtcTime{2}, Cause::finished, NextAction::stop, 0, "finished"}));
    auto journal = must(journal::JournalWriter::create(run.chief_journal()));
    MetricFrameWriter frames;
    for (std::uint64_t step = 0; step < reports; ++step) {
        std::array<Metric, names.size()> metrics;
        for (std::size_t i = 0; i < names.size(); ++i) metrics[i] = {names[i], value_of(step, i)};
        frames.add({time_of(step)}, "training", step, metrics);
        if (step % 10'000 != 9'999 && step + 1 != reports) continue;
        for (auto const& record : frames.take()) must(journal.append(record));
    }
}

RootLayout write_root(std::filesystem::path const& path, std::uint64_t points) {
    RootLayout root(path);
    ExperimentLayout const layout(root, {1});
    must(make_directories(layout.events()));
    ExperimentSpec spec;
    spec.id = {1};
    spec.name = "ingest";
    spec.trial_count = trials;
    spec.searcher.metric = "loss";
    must(write_file(layout.spec(), render_spec(spec)));
    must(journal::append_event(layout.events(), {"created", UtcTime{1}, "me@here", Json{{"job_id", "1"}}}));
    for (std::uint32_t trial = 0; trial < trials; ++trial)
        write_trial(layout, trial, points / trials / names.size());
    return root;
}

void remove_index(std::filesystem::path const& path) {
    for (auto const* const suffix : {"", "-wal", "-shm"}) must(remove_tree(path.native() + suffix));
}

void check(int result, sqlite3* database) {
    if (result == SQLITE_OK || result == SQLITE_DONE) return;
    std::cerr << "bench-ingest: " << sqlite3_errmsg(database) << '\n';
    std::quick_exit(1);
}

void insert_rows(std::filesystem::path const& path, std::uint64_t points) {
    sqlite3* database = nullptr;
    check(sqlite3_open(path.c_str(), &database), database);
    auto const run = [&](char const* sql) {
        check(sqlite3_exec(database, sql, nullptr, nullptr, nullptr), database);
    };
    run("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
        "CREATE TABLE points(series INTEGER, step INTEGER, time INTEGER, value REAL,"
        " PRIMARY KEY(series, step)) WITHOUT ROWID");
    sqlite3_stmt* insert = nullptr;
    check(sqlite3_prepare_v2(database, "INSERT INTO points VALUES(?,?,?,?)", -1, &insert, nullptr), database);
    auto const reports = points / trials / names.size();
    int rows = 0;
    run("BEGIN");
    for (std::size_t series = 0; series < trials * names.size(); ++series) {
        for (std::uint64_t step = 0; step < reports; ++step) {
            sqlite3_bind_int64(insert, 1, static_cast<std::int64_t>(series));
            sqlite3_bind_int64(insert, 2, static_cast<std::int64_t>(step));
            sqlite3_bind_int64(insert, 3, time_of(step));
            sqlite3_bind_double(insert, 4, value_of(step, series % names.size()));
            check(sqlite3_step(insert), database);
            sqlite3_reset(insert);
            if (++rows % rows_per_transaction == 0) run("COMMIT; BEGIN");
        }
    }
    run("COMMIT");
    sqlite3_finalize(insert);
    sqlite3_close(database);
}

void print_row(std::string const& name, std::vector<bench::Pair> const& pairs, std::string_view unit,
               bench::Better better) {
    std::cout << bench::render(bench::summarise(name, pairs, std::string(unit), better)) << '\n';
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2 && argc != 3) {
        std::cerr << "usage: bench-ingest DIRECTORY [POINTS]\n";
        return to_int(ExitCode::usage);
    }
    std::filesystem::path const directory = argv[1];
    std::uint64_t const points = argc == 3 ? std::stoull(argv[2]) : 10'000'000;
    auto const root = write_root(directory / "root", points);
    auto const index = directory / "index";
    auto const rows = directory / "rows";
    auto const count = static_cast<double>(points);
    std::vector<bench::Pair> ingest(pair_count);
    std::vector<bench::Pair> rebuild(pair_count);
    std::vector<bench::Pair> size;
    for (int i = 0; i < pair_count; ++i) {
        remove_index(index);
        ingest[i].ours =
            count / seconds([&] {
                must(ingest::Ingester(must(index::open_index(index, root.path(), index::Access::write)), root)
                         .read_all());
            });
        size.push_back({static_cast<double>(std::filesystem::file_size(index)) / count, bytes_per_point_max});
        remove_index(rows);
        ingest[i].peer = count / seconds([&] { insert_rows(rows, points); });
        rebuild[i] = {count / seconds([&] { must(ingest::rebuild_index(index, root)); }), rebuild_rate_min};
    }
    ingest.erase(ingest.begin());  // fills the page cache
    rebuild.erase(rebuild.begin());
    print_row("ingest", ingest, "points/s", bench::Better::higher);
    print_row("ingest-size", size, "B/point", bench::Better::lower);
    print_row("rebuild", rebuild, "points/s", bench::Better::higher);
    return 0;
}
