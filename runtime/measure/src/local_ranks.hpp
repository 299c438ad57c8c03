#pragma once
#include <det/collectives/distributed_context.hpp>

#include <sys/types.h>
#include <vector>

namespace det::measure {

/// Ranks on this machine, started with fork(): this process continues as rank 0, each child as another rank.
/// A child is killed when this process ends. The ranks communicate through shared memory.
class LocalRanks {
public:
    /// Starts the ranks, and returns in each of them. The calling process must have no other threads.
    static Result<LocalRanks> start(int count);
    LocalRanks(LocalRanks&&) noexcept = default;
    LocalRanks& operator=(LocalRanks&&) = delete;
    ~LocalRanks();

    collectives::DistributedContext& ranks() { return ranks_; }
    /// Must be called at the end of every rank. On rank 0 it waits up to 10 s for the end of each other
    /// process, and fails with codes::process if one has failed, or codes::timed_out if one does not end. On
    /// other ranks it does nothing.
    Status finish();

private:
    LocalRanks(std::vector<pid_t> others, collectives::DistributedContext ranks)
        : others_(std::move(others)), ranks_(std::move(ranks)) {}

    std::vector<pid_t> others_;  // on rank 0
    collectives::DistributedContext ranks_;
};

}  // namespace det::measure
