// The program det-tracker: serves what the journals of a root hold over HTTP.
#include <det/experiment/cluster_facts.hpp>
#include <det/foundation/process.hpp>
#include <det/foundation/text.hpp>
#include <det/slurm/make_client.hpp>

#include <algorithm>
#include <csignal>
#include <exception>
#include <fmt/format.h>
#include <iostream>

#include "command.hpp"

namespace {

using namespace det;
using namespace det::tracker::program;

std::string overview() {
    std::string text =
        "det-tracker: serves the experiments of det-submit over HTTP, to its user only\n\n"
        "usage: det-tracker COMMAND ... [--json]\n\n";
    for (auto const& entry : command_table()) text += fmt::format("  {:<8}  {}\n", entry.name, entry.summary);
    return text + "\n'det-tracker COMMAND --help' is its manual.\n";
}

int fail(Diagnostics const& problems) {
    print(std::cerr, problems, {Colour::never, "det-tracker"});
    return to_int(problems.exit_code());
}

Error unknown_command(std::string const& typed) {
    std::vector<std::string_view> names;
    for (auto const& entry : command_table()) names.push_back(entry.name);
    auto const near = nearest_word(typed, names);
    return Error{codes::usage, fmt::format("there is no command '{}'", typed),
                 near ? fmt::format("use 'det-tracker {}'", *near) : "see 'det-tracker --help'"};
}

int run(std::vector<std::string> const& arguments) {
    if (arguments.empty())
        return fail(Error{codes::usage, "det-tracker needs a command", "see 'det-tracker --help'"});
    auto const& name = arguments[0];
    if (name == "--help" || name == "-h" || name == "help") {
        std::cout << overview();
        return 0;
    }
    if (name == "--version") {
        std::cout << "det-tracker " DET_VERSION "\n";
        return 0;
    }
    auto const table = command_table();
    auto const entry = std::ranges::find(table, name, &CommandEntry::name);
    if (entry == table.end()) return fail(unknown_command(name));
    auto const command = entry->make();
    auto const environment = Environment::of_this_process();
    SystemProcessRunner runner;
    SystemClock clock;
    auto const client = slurm::make_client(runner, environment, clock);
    if (!client) return fail(client.error());
    Session session(environment, std::cout, std::cerr, clock, **client,
                    experiment::cache_directory_of(environment));
    auto options = command->options();
    options.push_back({"--json", &session.wants_json, "print JSON"});
    auto parsed = command_line::parse(options, {arguments.begin() + 1, arguments.end()});
    if (!parsed) {
        auto& hint = parsed.error().hint;
        if (hint.empty()) hint = fmt::format("see 'det-tracker {} --help'", name);
        return fail(parsed.error());
    }
    if (parsed->asks_for_help) {
        std::cout << find_page(name);
        return 0;
    }
    auto const outcome = command->run(session);
    return outcome ? to_int(*outcome) : fail(outcome.error());
}

}  // namespace

int main(int argc, char** argv) try {
    ::signal(SIGPIPE, SIG_IGN);  // a client that closes its connection does not end det-tracker
    return run({argv + 1, argv + argc});
} catch (std::exception const& surprise) {
    det::print(std::cerr, det::Error{det::codes::internal, surprise.what(), "please report this"},
               {det::Colour::never, "det-tracker"});
    return det::to_int(det::ExitCode::internal);
}
