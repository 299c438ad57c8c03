#include <det/foundation/diagnostic.hpp>

#include <exception>
#include <iostream>

#include "codes.hpp"
#include "command_line.hpp"

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
