// The program det-submit: connects commands with the process environment, prints errors and exits.
#include <det/experiment/cluster_facts.hpp>
#include <det/foundation/process.hpp>
#include <det/foundation/text.hpp>
#include <det/slurm/make_client.hpp>

#include <algorithm>
#include <csignal>
#include <exception>
#include <filesystem>
#include <iostream>
#include <unistd.h>

#include "arguments.hpp"
#include "output/output_style.hpp"
#include "output/page_text.hpp"

namespace {

using namespace det;

/// Uses colours if fd is a terminal that can show them and NO_COLOR is not set.
Colour colour_for(int fd, Environment const& environment) {
    bool const wanted = ::isatty(fd) == 1 && environment.find("TERM").value_or("dumb") != "dumb" &&
                        !environment.find_non_empty("NO_COLOR");
    return wanted ? Colour::always : Colour::never;
}

int run(std::vector<std::string> const& arguments) {
    auto const environment = Environment::of_this_process();
    RenderStyle const style{colour_for(STDERR_FILENO, environment), "det-submit"};
    auto invocation = cli::parse_command_line(arguments);
    if (!invocation) {
        print(std::cerr, invocation.error(), style);
        return to_int(invocation.error().code.exit);
    }
    print(std::cerr, invocation->warnings, style);
    auto const destination =
        ::isatty(STDOUT_FILENO) == 1 ? cli::Destination::terminal : cli::Destination::pipe_or_file;
    if (!invocation->command) {
        std::cout << cli::render_page(invocation->text,
                                      cli::output_style_of(environment, destination).columns);
        return 0;
    }
    SystemProcessRunner runner;
    SystemClock clock;
    auto const client = slurm::make_client(runner, environment, clock);
    if (!client) {
        print(std::cerr, client.error(), style);
        return to_int(client.error().code.exit);
    }
    cli::Session session{
        environment, std::cout, std::cerr,          style,
        clock,       **client,  invocation->format, experiment::cache_directory_of(environment),
        destination};
    session.in = &std::cin;
    session.can_ask = ::isatty(STDIN_FILENO) == 1 && ::isatty(STDERR_FILENO) == 1;
    auto const outcome = cli::run_command(*invocation, session);
    std::cout.flush();
    if (outcome) return to_int(*outcome);
    print(std::cerr, outcome.error(), style);
    return to_int(outcome.error().exit_code());
}

/// The words of the command line. `det-tracker start`, a link to this program, means `det-submit tracker
/// start`.
std::vector<std::string> words_of(int argc, char** argv) {
    std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
    bool const is_tracker = argc > 0 && std::filesystem::path(argv[0]).filename() == "det-tracker";
    if (is_tracker && (words.empty() || words[0] != "--version")) words.insert(words.begin(), "tracker");
    return words;
}

}  // namespace

int main(int argc, char** argv) try {
    ::signal(SIGPIPE, SIG_DFL);  // in `det-submit ... | head`, SIGPIPE ends det-submit
    return run(words_of(argc, argv));
} catch (std::exception const& surprise) {
    det::print(std::cerr, det::Error{det::codes::internal, surprise.what(), "please report this"},
               {det::Colour::never, "det-submit"});
    return det::to_int(det::ExitCode::internal);
}
