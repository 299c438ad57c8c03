#pragma once
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/directory_layout.hpp>
#include <det/protocol/experiment_spec.hpp>
#include <det/protocol/json.hpp>
#include <det/tracker/history/experiment_view.hpp>

#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "arguments.hpp"
#include "check_result.hpp"
#include "fake_clock.hpp"
#include "fake_slurm.hpp"
#include "temporary_directory.hpp"

namespace det::cli {

inline bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

/// det-submit in this process, with a root of its own and a fake Slurm.
struct CliFixture {
    TemporaryDirectory directory;
    RootLayout root{directory / "det"};
    FakeSlurm slurm;
    FakeClock clock;
    std::string out, err;         // of the last command line
    std::filesystem::path cache;  // empty: none
    Destination destination = Destination::pipe_or_file;
    Colour message_colour = Colour::never;  // always: as on a terminal
    std::optional<std::string> typed;       // what the user types on a terminal
    std::optional<std::string> piped;       // standard input that is not a terminal
    Environment environment{{{"DET_ROOT", root.path().string()}}};

    CliFixture() {
        slurm.partition_list = {
            {"compute", true, true, "REQUEUE", std::chrono::seconds(30), {{4, 8, "idle", "gpu:4"}}}};
    }

    /// The exit code of `det-submit LINE`; words are separated by single blanks.
    int run(std::string const& line) {
        std::vector<std::string> arguments;
        for (auto const word : split(line, ' ')) arguments.emplace_back(word);
        return run(arguments);
    }

    int run(std::vector<std::string> const& arguments) {
        std::ostringstream answer, talk;
        RenderStyle const style{message_colour, "det-submit"};
        auto invocation = must(parse_command_line(arguments));
        BOOST_REQUIRE(invocation.command != nullptr);
        Session session{environment,       answer, talk,       style, clock, slurm,
                        invocation.format, cache,  destination};
        std::istringstream input(typed.value_or(piped.value_or("")));
        if (typed || piped) session.in = &input;
        session.can_ask = typed.has_value();
        auto const outcome = run_command(invocation, session);
        if (!outcome) print(talk, outcome.error(), style);
        out = answer.str();
        err = talk.str();
        return to_int(outcome ? *outcome : outcome.error().exit_code());
    }

    /// Runs `det-submit LINE --json`, which must succeed. Returns its answer.
    Json ask(std::string const& line) {
        auto const code = run(line + " --json");
        BOOST_REQUIRE_MESSAGE(code == 0, line << ": " << code << "\n" << err);
        return parse_json(out);
    }
};

}  // namespace det::cli
