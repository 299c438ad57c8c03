// det-wrap-rank: puts "[rank=N] " before each line of a command, and enters DET_RUN_DIR for a task of a run.
#include <det/foundation/diagnostic.hpp>
#include <det/foundation/executable.hpp>
#include <det/foundation/process.hpp>
#include <det/launch/wrap_rank/wrapper.hpp>
#include <det/protocol/step_run.hpp>
#include <det/protocol/task_identity.hpp>

#include <exception>
#include <iostream>
#include <sys/resource.h>

namespace {

int fail(det::Error const& error) {
    det::print(std::cerr, error, {det::Colour::never, "det-wrap-rank"});
    return det::to_int(error.code.exit);
}

/// Ends this process as the command ended, with the same exit code or signal, so that Slurm reports it.
int end_as(det::launch::wrap_rank::CommandEnd const& end) {
    if (end.signal != 0) {
        rlimit const no_core{0, 0};  // the command has written its own core file
        ::setrlimit(RLIMIT_CORE, &no_core);
        det::end_by_signal(end.signal);
    }
    return end.exit_code;
}

}  // namespace

int main(int argc, char** argv) try {
    auto environment = det::Environment::of_this_process();
    if (!det::is_put_in_front(argv[0]))
        environment.unset(det::variables::wrapped_command);  // meant for the wrapped command
    bool const is_wrapped = environment.find(det::variables::wrapped_command).has_value();
    if (argc == 2 && !is_wrapped &&
        (argv[1] == std::string_view("--help") || argv[1] == std::string_view("-h"))) {
        std::cout << det::launch::wrap_rank::help_text;
        return 0;
    }
    auto request = det::launch::wrap_rank::parse_arguments({argv + 1, argv + argc}, environment);
    if (!request) return fail(request.error());
    det::SystemClock clock;
    auto const end = det::launch::wrap_rank::run_wrapped(*std::move(request), std::move(environment),
                                                         det::sibling_program("det-launch"), clock);
    return end ? end_as(*end) : fail(end.error());
} catch (std::exception const& surprise) {
    return fail(det::Error{det::codes::internal, surprise.what(), "please report this"});
}
