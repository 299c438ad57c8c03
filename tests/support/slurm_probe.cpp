// slurm_probe BACKEND         prints what the client reads with DET_SLURM_BACKEND=BACKEND, as JSON
// slurm_probe record DIR      stores the output of each Slurm command that our client runs in a file
#include <det/foundation/clock.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/process.hpp>
#include <det/slurm/command_client.hpp>
#include <det/slurm/make_client.hpp>

#include <exception>
#include <iostream>

#include "slurm_readings.hpp"
#include "slurm_recording.hpp"

using namespace det;

namespace {

int fail(Error const& error) {
    std::cerr << error.code.name << ": " << error.message << '\n';
    for (auto const& note : error.notes) std::cerr << note << '\n';
    return 1;
}

int show(std::string const& backend) {
    auto environment = Environment::of_this_process();
    environment.set("DET_SLURM_BACKEND", backend);
    SystemProcessRunner runner;
    SystemClock clock;
    auto const client = slurm::make_client(runner, environment, clock);
    if (!client) return fail(client.error());
    std::cout << readings_of(**client).dump() << '\n';
    return 0;
}

int record(std::filesystem::path const& directory) {
    RecordingRunner runner(directory);
    slurm::CommandClient client(runner, Environment::of_this_process());
    (void)readings_of(client);
    return 0;
}

}  // namespace

int main(int argc, char** argv) try {
    std::vector<std::string> const arguments(argv + 1, argv + argc);
    if (arguments.size() == 1) return show(arguments[0]);
    if (arguments.size() == 2 && arguments[0] == "record") return record(arguments[1]);
    std::cerr << "usage: slurm_probe BACKEND | record DIR\n";
    return 2;
} catch (std::exception const& error) {
    std::cerr << error.what() << '\n';
    return 1;
}
