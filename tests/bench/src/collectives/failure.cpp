#include "failure.hpp"

#include <det/collectives/distributed_context.hpp>
#include <det/collectives/node/node_group.hpp>
#include <det/collectives/rank_group.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace det::bench {
namespace {

constexpr int ranks = 4, victim = 2, kills = 300;
constexpr double limit_s = 0.010;

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Page {
    std::atomic<int> running;
    double error_at[ranks];
};

/// Reduces until an error occurs. Returns its time.
double run_rank(collectives::node::SharedMemory const& memory, int rank, std::atomic<int>& running) {
    auto group = collectives::node::map_and_join(memory, Rank{rank});
    if (!group) return 0;
    auto context = collectives::DistributedContext::make(*std::move(group), {rank, ranks, 0, 1});
    if (!context) return 0;
    if (!context->barrier()) return 0;
    ++running;
    std::vector<float> values(10'000);
    while (context->allreduce(std::span(values), collectives::ReduceOp::max)) {
    }
    return now();
}

double kill_one(Page& page, int number) {
    page.running = 0;
    std::ranges::fill(page.error_at, 0.0);
    auto const memory =
        collectives::node::create_shared_memory(ranks, collectives::node::geometry_for(ranks));
    if (!memory) throw std::runtime_error(memory.error().message);
    pid_t pids[ranks];
    for (int rank = 0; rank < ranks; ++rank) {
        pids[rank] = ::fork();
        if (pids[rank] != 0) continue;
        page.error_at[rank] = run_rank(*memory, rank, page.running);
        ::_exit(0);
    }
    while (page.running < ranks) std::this_thread::yield();
    // The kill hits different phases of an operation.
    std::this_thread::sleep_for(std::chrono::microseconds(500 + number * 37 % 5000));
    auto const killed_at = now();
    ::kill(pids[victim], SIGKILL);
    for (auto const pid : pids) ::waitpid(pid, nullptr, 0);
    double last = 0;
    for (int rank = 0; rank < ranks; ++rank) {
        if (rank == victim) continue;
        if (page.error_at[rank] < killed_at) throw std::runtime_error("a rank ended before the kill");
        last = std::max(last, page.error_at[rank] - killed_at);
    }
    return last;
}

}  // namespace

Row failure_row() {
    auto* const page = static_cast<Page*>(
        ::mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    std::vector<double> times;
    for (int i = 0; i < kills; ++i) times.push_back(kill_one(*page, i));
    std::ranges::sort(times);
    auto const p99 = times[times.size() * 99 / 100];
    return {"failure-node", p99, limit_s, p99 / limit_s, "s", Better::lower};
}

}  // namespace det::bench
