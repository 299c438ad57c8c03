#pragma once
#include <det/collectives/control_channel.hpp>

#include "wait.hpp"

namespace det::collectives::node {

class NodeGroup;

/// The flags of the ranks of this node, on cache lines that operations do not use.
class NodeFlags final : public collectives::SharedFlags {
public:
    NodeFlags(NodeGroup& group, RankSlot const& slot, Watch& watch, Cores const& cores)
        : group_(group), slot_(slot), watch_(watch), cores_(cores) {}

    void write(std::uint64_t value) override {
        slot_.segment.flag(slot_.rank).value.store(value, std::memory_order_release);
        slot_.wake();
    }
    std::uint64_t read(int local_rank) const override {
        return slot_.segment.flag(local_rank).value.load(std::memory_order_acquire);
    }
    Result<std::uint64_t> wait(int local_rank, IsEnough is_enough,
                               collectives::NamedCall const& call) override;

private:
    NodeGroup& group_;
    RankSlot const& slot_;
    Watch& watch_;
    Cores const& cores_;
};

}  // namespace det::collectives::node
