#include <array>
#include <fmt/format.h>
#include <iostream>
#include <sys/wait.h>
#include <unistd.h>

#include "checks.hpp"
#include "library.hpp"
#include "rows.hpp"

namespace det::gpu {
namespace {

/// What each of two ranks with the same device gets: an error that says what to do, and a context that still
/// works in host memory.
void run_rank(int rank, char const* group) {
    Driver const driver;
    Context context(rank, 2, group);
    std::array<float, 4> host{static_cast<float>(rank + 1), 2, 3, 4};
    auto const reduce = [&](void* data) {
        return det_distributed_allreduce(context, data, data, host.size(), DET_F32, DET_REDUCE_SUM);
    };
    must(reduce(host.data()));
    require(host[0] == 3, "the sum in host memory is wrong");
    DeviceMemory const memory(driver, std::as_bytes(std::span(host)));
    must_fail(reduce(memory.data()), "transport", "cudaSetDevice(LOCAL_RANK)");
    must(reduce(host.data()));
    require(host[0] == 6, "the sum in host memory is wrong after the error");
    context.close();
}

/// Exits with 0 if run_rank() has found what it wants.
pid_t start_rank(int rank, std::string const& group) {
    auto const child = ::fork();
    if (child != 0) return child;
    try {
        run_rank(rank, group.c_str());
    } catch (Failure const& failure) {
        std::cerr << "rank " << rank << ": " << failure.what() << std::endl;
        ::_exit(1);
    }
    ::_exit(0);
}

}  // namespace

void check_two_ranks() {
    run_row("two-ranks-one-gpu", []() -> std::optional<Figure> {
        auto const group = fmt::format("gpu-checks-{}", ::getpid());
        pid_t const ranks[] = {start_rank(0, group), start_rank(1, group)};
        bool are_right = true;
        auto const seconds = seconds_of([&] {
            for (auto const rank : ranks) {
                int status = 0;
                are_right = ::waitpid(rank, &status, 0) == rank && status == 0 && are_right;
            }
        });
        require(are_right, "a rank did not get what it should; see the log");
        return Figure{seconds, "s", std::nullopt, ""};
    });
}

}  // namespace det::gpu
