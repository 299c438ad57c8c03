#pragma once
#include <det/collectives/rank_group.hpp>

#include "wait.hpp"

namespace det::collectives::node {

class NodeGroup;

/// One line of memory per rank, beside what the operations use.
class NodeWords final : public collectives::SharedWords {
public:
    NodeWords(NodeGroup& group, Seat const& seat, Watch& watch, Cores const& cores)
        : group_(group), seat_(seat), watch_(watch), cores_(cores) {}

    void write(std::uint64_t value) override {
        seat_.segment.word(seat_.rank).value.store(value, std::memory_order_release);
        seat_.wake();
    }
    std::uint64_t read(int local_rank) const override {
        return seat_.segment.word(local_rank).value.load(std::memory_order_acquire);
    }
    Result<std::uint64_t> wait(int local_rank, bool (*is_enough)(std::uint64_t value, std::uint64_t call),
                               std::uint64_t call) override;

private:
    NodeGroup& group_;
    Seat const& seat_;
    Watch& watch_;
    Cores const& cores_;
};

}  // namespace det::collectives::node
