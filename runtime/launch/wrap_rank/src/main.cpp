// det-wrap-rank: puts "[rank=N] " before each line of a command, and enters DET_RUN_DIR for a task of a run.
#include <det/foundation/diagnostic.hpp>
#include <det/foundation/executable.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/process.hpp>
#include <det/foundation/start_thread.hpp>
#include <det/foundation/storage_timeout.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/step_run.hpp>
#include <det/protocol/task_identity.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <fmt/format.h>
#include <iostream>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

#include "stacks.hpp"
#include "wrapper.hpp"

namespace {

using namespace det;
using namespace det::launch::wrap_rank;

constexpr char help_text[] =
    R"(det-wrap-rank: runs a command with "[rank=N] " before each line that it prints

    det-wrap-rank RANK [--] CMD...
    det-wrap-rank --node [--] CMD...    labels nothing; enters DET_RUN_DIR for a task of a run

RANK is a number, or names of environment variables separated by commas, of which the first that is set holds it.
Standard output and error stay separate. \n and \r end lines, longer ones are cut after 8191 bytes; bytes are not
changed. Every signal is forwarded to the command's process group; in a run of det-submit TERM is Slurm's notice and does
not. With DET_RANK_LOG=FILE the lines are appended there too, with their time. The exit code is the command's, or the
signal that ended it; 1 no variable of RANK is set, 2 a wrong command line, 126 and 127 the command can't be run.
)";

constexpr std::string_view usage_hint =
    "det-wrap-rank RANK [--] CMD...  or  det-wrap-rank --node [--] CMD...  (RANK: a number, or names of "
    "variables)";

Error usage(std::string message) { return Error{codes::usage, std::move(message), std::string(usage_hint)}; }

/// "007" is rank 7.
std::optional<std::string> parse_rank(std::string_view text) {
    auto const number = parse_integer<std::uint32_t>(text);
    if (!number) return std::nullopt;
    return std::to_string(*number);
}

Result<std::string> find_rank(std::string const& given, Environment const& environment) {
    if (auto rank = parse_rank(given)) return *std::move(rank);
    for (auto const name : split(given, ',')) {
        auto const value = environment.find(name);
        if (!value) continue;
        if (auto rank = parse_rank(*value)) return *std::move(rank);
        return usage(fmt::format("{}='{}' is not a rank", name, *value));
    }
    return Error{
        codes::misuse,
        fmt::format("rank environment variable is set to {}, but it is not in the environment", given),
        std::string(usage_hint)};
}

/// The SPANK plugin has prepended the wrapper to the command; the rank is in SLURM_PROCID.
Result<WrapRequest> parse_plugin_call(std::vector<std::string> command, Environment const& environment) {
    WrapRequest request;
    // The tasks of a step in a batch script are ranks.
    bool const is_node = environment.find(variables::launch) == to_string(Launch::node);
    request.level = is_node ? Launch::node : Launch::rank;
    if (request.level == Launch::rank) {
        DET_TRY_ASSIGN(request.rank, find_rank("SLURM_PROCID", environment));
    }
    request.command = std::move(command);
    return request;
}

/// The supervisor's call for `launch: script`. An empty directory is that of the trial's code.
Result<WrapRequest> parse_script_call(std::vector<std::string> const& arguments) {
    if (arguments.size() < 3) return usage("det-wrap-rank --script needs a directory and a command");
    WrapRequest request;
    request.level = Launch::script;
    request.rank = std::string{"0"};  // gcc 12 warns wrongly about an assignment of "0"
    request.directory = arguments[1];
    request.command.assign(arguments.begin() + 2, arguments.end());
    return request;
}

/// Parses one of
///   det-wrap-rank RANK [--] CMD...     RANK: digits, or names of variables, separated by commas
///   det-wrap-rank --node [--] CMD...
///   det-wrap-rank --script DIRECTORY CMD...   called by the supervisor
///   det-wrap-rank --spank CMD...  called by the SPANK plugin: DET_LAUNCH is the level
///   det-wrap-rank ARG...          called by the plugin before Slurm 23.11: the command is DET_SPANK_COMMAND
Result<WrapRequest> parse_arguments(std::vector<std::string> const& arguments,
                                    Environment const& environment) {
    if (auto const program = environment.find_non_empty(variables::wrapped_command)) {
        std::vector<std::string> command{*program};
        command.insert(command.end(), arguments.begin(), arguments.end());
        return parse_plugin_call(std::move(command), environment);
    }
    if (!arguments.empty() && arguments[0] == "--script") return parse_script_call(arguments);
    if (arguments.size() < 2) return usage("det-wrap-rank needs a rank and a command");
    if (arguments[0] == "--spank")
        return parse_plugin_call({arguments.begin() + 1, arguments.end()}, environment);
    // "--" may precede the command.
    auto const skipped = arguments[1] == "--" ? 2 : 1;
    if (arguments.size() == static_cast<std::size_t>(skipped)) return usage("det-wrap-rank needs a command");
    WrapRequest request;
    request.command.assign(arguments.begin() + skipped, arguments.end());
    if (arguments[0] == "--node") {
        request.level = Launch::node;
        return request;
    }
    DET_TRY_ASSIGN(request.rank, find_rank(arguments[0], environment));
    return request;
}

int fail(Error const& error) {
    print(std::cerr, error, {Colour::never, "det-wrap-rank"});
    return to_int(error.code.exit);
}

/// Ends this process as the command ended, with the same exit code or signal, so that Slurm reports it.
int end_as(CommandEnd const& end) {
    if (end.signal != 0) {
        rlimit const no_core{0, 0};  // the command has written its own core file
        ::setrlimit(RLIMIT_CORE, &no_core);
        end_by_signal(end.signal);
    }
    return end.exit_code;
}

/// Lets this process end after the limit: it may wait for a shared file system that does not answer. What
/// the process has left in the node's directory is removed by a later run.
void limit_end(std::chrono::milliseconds limit, int exit_code) {
    start_thread("det-end", [=](std::stop_token const&) {
        std::this_thread::sleep_for(limit);
        auto const seconds = std::chrono::floor<std::chrono::seconds>(limit).count();
        (void)write_all(
            STDERR_FILENO,
            fmt::format("det-wrap-rank: the shared file system has not answered for {} s: the log, "
                        "or how the command ended, is not recorded\n",
                        seconds),
            "standard error");
        ::_exit(exit_code);
    }).detach();
}

/// Longer than a wrapper waits for anything else after the command's end.
constexpr std::chrono::seconds end_limit_min{5};

}  // namespace

int main(int argc, char** argv) try {
    auto environment = Environment::of_this_process();
    if (!is_wrapper_argv0(argv[0]))
        environment.unset(variables::wrapped_command);  // it is valid only in a call by the plugin
    bool const is_wrapped = environment.find(variables::wrapped_command).has_value();
    if (argc == 2 && !is_wrapped &&
        (argv[1] == std::string_view("--help") || argv[1] == std::string_view("-h"))) {
        std::cout << help_text;
        return 0;
    }
    if (argc == 3 && !is_wrapped && argv[1] == std::string_view("--stacks")) {
        // Called by the wrapper of a run that hangs.
        if (auto const process = parse_integer<pid_t>(argv[2]))
            print_stacks(*process, std::move(environment));
        return 0;
    }
    auto request = parse_arguments({argv + 1, argv + argc}, environment);
    if (!request) return fail(request.error());
    auto const limit = std::max<std::chrono::milliseconds>(
        find_storage_timeout(environment, std::chrono::minutes(10)).value_or(end_limit_min), end_limit_min);
    request->when_ended = [limit](int exit_code) { limit_end(limit, exit_code); };
    SystemClock clock;
    auto const end =
        run_wrapped(*std::move(request), std::move(environment), sibling_program("det-launch"), clock);
    return end ? end_as(*end) : fail(end.error());
} catch (std::exception const& surprise) {
    return fail(Error{codes::internal, surprise.what(), "please report this"});
}
