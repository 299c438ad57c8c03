#pragma once
#include <det/collectives/distributed_context.hpp>

#include <sys/types.h>
#include <vector>

namespace det::measure {

/// Ranks of this machine, started by forking: this process goes on as rank 0, and as every other one in a
/// process of its own, which ends with this one at the latest. They see each other through shared memory.
class LocalRanks {
public:
    /// Returns in every rank. The process must have no other threads.
    static Result<LocalRanks> start(int count);
    LocalRanks(LocalRanks&&) noexcept = default;
    LocalRanks& operator=(LocalRanks&&) = delete;
    ~LocalRanks();

    collectives::DistributedContext& ranks() { return ranks_; }
    /// On rank 0, once it has come to its end: waits for the others, a little. An Error where one has failed.
    Status finish();

private:
    LocalRanks(std::vector<pid_t> others, collectives::DistributedContext ranks)
        : others_(std::move(others)), ranks_(std::move(ranks)) {}

    std::vector<pid_t> others_;  // of rank 0
    collectives::DistributedContext ranks_;
};

}  // namespace det::measure
