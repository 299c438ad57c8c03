// Checks of device memory, through det.h:
//   gpu-checks probe           prints the first device as JSON. Exit code 3: there is none; stderr says why
//   gpu-checks collectives | checkpoints | two-ranks   prints rows, one JSON object per line
// DET_GPU_STORAGE is the directory for checkpoints, DET_GPU_STATE_BYTES the size of the largest state.
#include <iostream>
#include <nlohmann/json.hpp>
#include <string_view>

#include "checks.hpp"

namespace {

using det::gpu::Driver;

void probe() {
    Driver const driver;
    nlohmann::json const found{{"card", driver.device_name()},
                               {"cards", driver.device_count()},
                               {"cuda", driver.version()},
                               {"free_bytes", driver.free_bytes()}};
    std::cout << found.dump() << std::endl;
}

struct Command {
    std::string_view name;
    void (*run)();
};
constexpr Command commands[] = {
    {"probe", probe},
    {"collectives", [] { det::gpu::check_collectives(Driver()); }},
    {"checkpoints", [] { det::gpu::check_checkpoints(Driver()); }},
    {"two-ranks", det::gpu::check_two_ranks},
};

}  // namespace

int main(int argc, char** argv) {
    constexpr int usage_error = 2, no_device = 3;
    std::string_view const name = argc == 2 ? argv[1] : "";
    for (auto const& command : commands) {
        if (command.name != name) continue;
        try {
            command.run();
        } catch (det::gpu::Failure const& failure) {
            std::cerr << failure.what() << '\n';
            return no_device;
        }
        return 0;
    }
    std::cerr << "gpu-checks probe | collectives | checkpoints | two-ranks\n";
    return usage_error;
}
