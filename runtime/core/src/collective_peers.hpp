#pragma once
#include <det/checkpoint/peers.hpp>
#include <det/collectives/distributed_context.hpp>

namespace det::core {

/// Implements the Peers of the checkpoint module with the DistributedContext of the run.
class CollectivePeers final : public checkpoint::Peers {
public:
    explicit CollectivePeers(collectives::DistributedContext& distributed) : distributed_(distributed) {}

    int rank() const override { return distributed_.rank().value; }
    int size() const override { return distributed_.size(); }
    Result<std::vector<std::string>> gather(std::string value) override {
        return distributed_.gather(std::move(value));
    }
    Result<std::vector<std::string>> allgather(std::string value) override {
        return distributed_.allgather(std::move(value));
    }
    Result<std::string> broadcast(std::string value) override {
        return distributed_.broadcast(std::move(value));
    }
    Status allreduce_min(std::span<std::int64_t> values) override {
        return distributed_.allreduce(values, collectives::ReduceOp::min);
    }

private:
    collectives::DistributedContext& distributed_;
};

}  // namespace det::core
