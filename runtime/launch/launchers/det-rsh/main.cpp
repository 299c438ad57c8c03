// det-rsh: runs a command on another node of the job. Its command line is that of ssh.
#include <det/foundation/diagnostic.hpp>
#include <det/foundation/executable.hpp>
#include <det/launch/launchers/help_pages.hpp>
#include <det/launch/launchers/remote_command.hpp>

#include <exception>
#include <iostream>

namespace {

/// ssh's exit code if it could not run the command.
constexpr int not_run = 255;

int fail(det::Error const& error) {
    det::print(std::cerr, error, {det::Colour::never, "det-rsh"});
    return not_run;
}

det::Result<int> run(std::vector<std::string> const& arguments) {
    DET_TRY_ASSIGN(auto const command, det::launch::launchers::parse_arguments(arguments));
    if (command.wants_version) {
        std::cerr << "det-rsh: ssh by srun\n";
        return 0;
    }
    auto const environment = det::Environment::of_this_process();
    DET_TRY_ASSIGN(auto const step, det::launch::launchers::plan_step(command, environment,
                                                                      det::sibling_program("det-wrap-rank")));
    return det::launch::launchers::run_remotely(step, environment, det::SystemClock());
}

}  // namespace

int main(int argc, char** argv) try {
    std::vector<std::string> const arguments(argv + 1, argv + argc);
    if (!arguments.empty() && arguments[0] == "--help") {
        std::cout << det::launch::launchers::find_page("det-rsh");
        return 0;
    }
    auto const exit_code = run(arguments);
    return exit_code ? *exit_code : fail(exit_code.error());
} catch (std::exception const& surprise) {
    return fail(det::Error{det::codes::internal, surprise.what(), "please report this"});
}
