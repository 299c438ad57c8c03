#include <det/foundation/diagnostic.hpp>

#include <exception>
#include <iostream>

#include "command_line.hpp"
#include "error_codes.hpp"

#ifdef __SANITIZE_ADDRESS__
// The leak check starts a thread. The kernel refuses threads after setns(2) or unshare(2) of the PID
// namespace.
extern "C" __attribute__((visibility("default"))) char const* __asan_default_options() {
    return "detect_leaks=0";
}
#endif

int main(int argc, char** argv) {
    using namespace det;
    RenderStyle const style{.program = "cluster"};
    try {
        auto const done = loopback::run_command_line(argc, argv, Environment::of_this_process());
        if (done) return *done;
        print(std::cerr, done.error(), style);
        return to_int(done.error().code.exit);
    } catch (std::exception const& exception) {
        print(std::cerr, Error{codes::internal, exception.what()}, style);
        return to_int(ExitCode::internal);
    }
}
