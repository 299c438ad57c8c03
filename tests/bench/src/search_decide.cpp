// bench-search-decide DIRECTORY: the time of one decision of a search in a rung of 1,000 trials: the entry is
// written, the rung is listed, and the decision is made. The peer is rename(2) of an empty file into a
// directory with the same files, and readdir(3) of all its names.
#include <det/foundation/diagnostic.hpp>
#include <det/foundation/files.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <dirent.h>
#include <fmt/format.h>
#include <iostream>
#include <random>

#include "row.hpp"
#include "rung_directory.hpp"

namespace {

using namespace det;
namespace fs = std::filesystem;

constexpr std::uint32_t trial_count = 1000;
constexpr int pair_count = 201;
constexpr search::RungEntry own{trial_count / 2, 0.123456789};

template <class T>
T must(Result<T> result) {
    if (result) return *std::move(result);
    print(std::cerr, result.error(), {Colour::never, "bench-search-decide"});
    std::quick_exit(to_int(result.error().code.exit));
}

double time_s(auto const& work) {
    auto const begin = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

search::AshaSearch search_of_one_bracket() {
    search::AshaSearch search;
    search.brackets = {{{62, 250, 1000}, trial_count, trial_count}};
    search.length = {1000};
    return search;
}

/// The entries of all trials but the own one, in the order in which trials arrive.
void fill(fs::path const& rung) {
    std::mt19937 engine(18);
    std::vector<search::RungEntry> entries;
    for (std::uint32_t trial = 0; trial < trial_count; ++trial) {
        if (trial != own.trial) entries.push_back({trial, std::generate_canonical<double, 53>(engine)});
    }
    std::ranges::shuffle(entries, engine);
    must(make_directories(rung));
    for (auto const& entry : entries) must(write_file(rung / search::rung_entry_name(entry), ""));
}

/// The number of names in the directory.
std::size_t read_names(fs::path const& path) {
    std::size_t count = 0;
    auto* const directory = ::opendir(path.c_str());
    if (directory == nullptr) must(Status(os_error("list the peer's directory", errno)));
    while (::readdir(directory) != nullptr) ++count;
    ::closedir(directory);
    return count;
}

void require_all_names(std::size_t count) {
    if (count != trial_count)
        must(Status(Error{codes::internal, fmt::format("{} of {} entries were seen", count, trial_count)}));
}

double decide_s(ExperimentLayout const& experiment) {
    launch::supervisor::RungDirectory rungs(experiment, search_of_one_bracket());
    search::TrialSearch const trial(search_of_one_bracket(), 0, own.trial, false);
    std::optional<SearchDecision> decision;
    auto const time = time_s([&] { decision = must(trial.decide({62, 62, own.metric}, rungs)); });
    require_all_names(must(search::parse_trial_ranges(decision->trials)).size());
    must(trial.remove_entries(rungs));
    return time;
}

double rename_and_read_s(fs::path const& rung) {
    auto const entry = rung / search::rung_entry_name(own);
    auto const temporary = rung / ".new";
    must(write_file(temporary, ""));
    std::size_t names = 0;
    auto const time = time_s([&] {
        if (std::rename(temporary.c_str(), entry.c_str()) != 0)
            must(Status(os_error("rename the peer's file", errno)));
        names = read_names(rung);
    });
    require_all_names(names - 2);  // . and ..
    must(remove_tree(entry));
    return time;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::cerr << "usage: bench-search-decide DIRECTORY\n";
        return to_int(ExitCode::usage);
    }
    ExperimentLayout const experiment(RootLayout(argv[1]), {1});
    ExperimentLayout const peer(RootLayout(argv[1]), {2});
    fill(experiment.rung(0, 0));
    fill(peer.rung(0, 0));
    std::vector<bench::Pair> pairs(pair_count);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        if (i % 2 == 0) pairs[i].ours = decide_s(experiment);
        pairs[i].peer = rename_and_read_s(peer.rung(0, 0));
        if (i % 2 == 1) pairs[i].ours = decide_s(experiment);
    }
    pairs.erase(pairs.begin());  // fills the caches
    std::cout << bench::render(bench::summarise("search-decide", pairs, "s", bench::Better::lower)) << '\n';
    return 0;
}
