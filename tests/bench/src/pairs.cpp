// bench-pairs NAME PAIRS [BYTES] -- OURS... -- PEER... [-- BEFORE...]
// Measures the wall time of two commands alternately and prints one row in seconds; with BYTES (the amount of
// data of each command) in MB/s. BEFORE runs before each pair and is not timed.
#include <det/foundation/diagnostic.hpp>
#include <det/foundation/process.hpp>
#include <det/foundation/text.hpp>

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <iostream>

#include "row.hpp"

namespace {

using namespace det;
using Argv = std::vector<std::string>;

constexpr std::chrono::seconds command_timeout{30};
constexpr char usage_text[] = "usage: bench-pairs NAME PAIRS [BYTES] -- OURS... -- PEER... [-- BEFORE...]";

struct Contest {
    std::string name;
    int pairs = 0;
    double size_bytes = 0;  // 0: the row is in seconds
    Argv ours, peer, before;
};

std::vector<Argv> split_at_dashes(Argv const& arguments) {
    std::vector<Argv> parts(1);
    for (auto const& argument : arguments) {
        if (argument == "--") {
            parts.emplace_back();
        } else {
            parts.back().push_back(argument);
        }
    }
    return parts;
}

Result<Contest> parse_contest(Argv const& arguments) {
    Error const wrong{codes::usage, "the command line is not understood", usage_text};
    auto const parts = split_at_dashes(arguments);
    bool const complete =
        (parts.size() == 3 || parts.size() == 4) && (parts[0].size() == 2 || parts[0].size() == 3) &&
        std::none_of(parts.begin(), parts.end(), [](auto const& part) { return part.empty(); });
    if (!complete) return wrong;
    auto const pairs = parse_integer<int>(parts[0][1]);
    auto const size_bytes = parts[0].size() == 3 ? parse_integer<std::int64_t>(parts[0][2]) : 0;
    if (!pairs || *pairs < 1 || !size_bytes || *size_bytes < 0) return wrong;
    return Contest{parts[0][0], *pairs,   static_cast<double>(*size_bytes),
                   parts[1],    parts[2], parts.size() == 4 ? parts[3] : Argv{}};
}

/// Runs a command, which must succeed, and returns its wall time.
Result<double> time_s(Argv const& argv, ProcessRunner& runner) {
    Command const command{argv, Environment::of_this_process(), command_timeout};
    auto const start = std::chrono::steady_clock::now();
    DET_TRY_ASSIGN(auto const output, runner.run(command));
    std::chrono::duration<double> const took = std::chrono::steady_clock::now() - start;
    if (output.exit_code == 0) return took.count();
    return Error{codes::process,
                 fmt::format("'{}' ended with exit code {}", join(argv, " "), output.exit_code)}
        .noting(std::string(trim(output.err)));
}

Result<bench::Pair> run_pair(Contest const& contest, bool ours_first, ProcessRunner& runner) {
    if (!contest.before.empty()) DET_TRY(time_s(contest.before, runner));
    DET_TRY_ASSIGN(double const first, time_s(ours_first ? contest.ours : contest.peer, runner));
    DET_TRY_ASSIGN(double const second, time_s(ours_first ? contest.peer : contest.ours, runner));
    return ours_first ? bench::Pair{first, second} : bench::Pair{second, first};
}

Result<bench::Row> run_contest(Contest const& contest) {
    SystemProcessRunner runner;
    DET_TRY(run_pair(contest, true, runner));  // fills the caches
    std::vector<bench::Pair> pairs;
    for (int i = 0; i < contest.pairs; ++i) {
        DET_TRY_ASSIGN(auto const pair, run_pair(contest, i % 2 == 0, runner));
        auto const rate = [&](double seconds) { return contest.size_bytes / 1e6 / seconds; };
        pairs.push_back(contest.size_bytes > 0 ? bench::Pair{rate(pair.ours), rate(pair.peer)} : pair);
    }
    if (contest.size_bytes > 0) return bench::summarise(contest.name, pairs, "MB/s", bench::Better::higher);
    return bench::summarise(contest.name, pairs, "s", bench::Better::lower);
}

}  // namespace

int main(int argc, char** argv) {
    auto const contest = parse_contest({argv + 1, argv + argc});
    auto const row = contest ? run_contest(*contest) : contest.error();
    if (!row) {
        print(std::cerr, row.error(), {Colour::never, "bench-pairs"});
        return to_int(row.error().code.exit);
    }
    std::cout << bench::render(*row) << '\n';
    return 0;
}
