#include <det/foundation/diagnostic.hpp>

#include <exception>
#include <iostream>

#include "codes.hpp"
#include "command_line.hpp"

#ifdef __SANITIZE_ADDRESS__
// The leak check starts a thread, which the kernel refuses a process that has set out for another PID
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
    } catch (std::exception const& surprise) {
        print(std::cerr, Error{codes::internal, surprise.what()}, style);
        return to_int(ExitCode::internal);
    }
}
