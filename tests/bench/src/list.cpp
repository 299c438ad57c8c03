// bench-list DIRECTORY: the list of the experiments of DIRECTORY/root, from the tracker's index and over
// HTTP. The peer steps over the same rows of the same index by one prepared statement of SQLite and reads
// their texts.
#include <det/foundation/diagnostic.hpp>
#include <det/foundation/files.hpp>
#include <det/tracker/http/client.hpp>
#include <det/tracker/http/server.hpp>
#include <det/tracker/ingest/live_index.hpp>
#include <det/tracker/ingest/rebuild.hpp>

#include <chrono>
#include <fmt/format.h>
#include <iostream>
#include <sqlite3.h>
#include <unistd.h>

#include "fake_slurm.hpp"
#include "row.hpp"
#include "tracker/api/api.hpp"

namespace {

using namespace det;
using namespace det::tracker;

constexpr int pair_count = 40;

template <class T>
T must(Result<T> result) {
    if (result) return *std::move(result);
    print(std::cerr, result.error(), {Colour::never, "bench-list"});
    std::quick_exit(to_int(result.error().code.exit));
}

double seconds(auto const& work) {
    auto const begin = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// A query of SQLite that is prepared once.
class PreparedQuery {
public:
    PreparedQuery(std::filesystem::path const& index, char const* sql) {
        check(
            sqlite3_open_v2(index.c_str(), &database_, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, nullptr));
        check(sqlite3_prepare_v2(database_, sql, -1, &statement_, nullptr));
    }
    ~PreparedQuery() {
        sqlite3_finalize(statement_);
        sqlite3_close(database_);
    }
    PreparedQuery(PreparedQuery const&) = delete;

    struct Sums {
        std::size_t rows = 0;
        std::size_t bytes = 0;
        std::size_t letters = 0;  // so that every text is read
    };
    Sums run() {
        Sums sums;
        int result = SQLITE_ROW;
        while ((result = sqlite3_step(statement_)) == SQLITE_ROW) {
            std::string_view const text(reinterpret_cast<char const*>(sqlite3_column_text(statement_, 1)),
                                        static_cast<std::size_t>(sqlite3_column_bytes(statement_, 1)));
            ++sums.rows;
            sums.bytes += text.size();
            sums.letters += static_cast<unsigned char>(text.back());
        }
        check(result == SQLITE_DONE ? SQLITE_OK : result);
        check(sqlite3_reset(statement_));
        return sums;
    }

private:
    void check(int result) const {
        if (result == SQLITE_OK) return;
        std::cerr << "bench-list: " << sqlite3_errmsg(database_) << '\n';
        std::quick_exit(1);
    }
    sqlite3* database_ = nullptr;
    sqlite3_stmt* statement_ = nullptr;
};

/// Compares a way to list experiments, which returns the number of their bytes, with a query of the same
/// rows.
std::vector<bench::Pair> compare(auto const& list, PreparedQuery& query) {
    std::vector<bench::Pair> pairs(pair_count + 1);
    for (auto& pair : pairs) {
        std::size_t bytes = 0;
        PreparedQuery::Sums sums;
        pair.ours = seconds([&] { bytes = list(); });
        pair.peer = seconds([&] { sums = query.run(); });
        if (bytes < sums.bytes) {
            std::cerr << fmt::format("bench-list: {} bytes of {} rows are missing\n", sums.bytes - bytes,
                                     sums.rows);
            std::quick_exit(1);
        }
    }
    pairs.erase(pairs.begin());
    return pairs;
}

void print_row(std::string name, std::vector<bench::Pair> const& pairs) {
    std::cout << bench::render(bench::summarise(std::move(name), pairs, "s", bench::Better::lower)) << '\n';
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::cerr << "usage: bench-list DIRECTORY\n";
        return to_int(ExitCode::usage);
    }
    std::filesystem::path const directory = argv[1];
    RootLayout const root(directory / "root");
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

    constexpr std::size_t all_count = 10'000, page_count = 1'000;
    auto const list = [&](std::size_t limit) {
        std::size_t bytes = 0;
        for (auto const& experiment : must(live->list_summaries({.limit = limit})).experiments)
            bytes += experiment.text.size();
        return bytes;
    };
    auto const get = [&](std::size_t limit) {
        return must(client->get(fmt::format("/v1/experiments?limit={}", limit))).size();
    };
    PreparedQuery all(index,
                      "SELECT experiment, summary FROM summaries ORDER BY experiment DESC LIMIT 10000");
    PreparedQuery page(index,
                       "SELECT experiment, summary FROM summaries ORDER BY experiment DESC LIMIT 1000");
    std::vector<bench::Pair> first(1);
    first[0].ours = seconds([&] { get(all_count); });
    first[0].peer = seconds([&] { all.run(); });
    print_row("list", compare([&] { return list(all_count); }, all));
    print_row("list-page", compare([&] { return list(page_count); }, page));
    print_row("list-http", compare([&] { return get(all_count); }, all));
    print_row("list-http-page", compare([&] { return get(page_count); }, page));
    print_row("list-http-first", first);
    return 0;
}
