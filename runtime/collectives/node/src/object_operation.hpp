#pragma once
#include <string>
#include <vector>

#include "operation.hpp"

namespace det::collectives::node {

/// An operation on byte strings of unequal size: from all ranks or one rank, to all ranks or one rank.
class ObjectOperation final : public Operation {
public:
    ObjectOperation(collectives::Call call, std::string value, Status const& refused);

    /// Returns the values by rank, after the operation is complete. Values that this rank does not receive
    /// are empty.
    std::vector<std::string> take_values(RankSlot const& slot);

private:
    std::size_t location(RankSlot& slot, Payload& payload) override;
    bool on_all_entered(RankSlot& slot, ExchangePlan& plan) override;

    bool is_source(int rank) const;
    bool is_target(int rank) const;
    /// Copies the value of `rank` if it is small enough that the rank wrote it when it entered. Returns
    /// whether it is.
    bool take_small(RankSlot const& slot, int rank, std::size_t size);

    std::string own_;
    std::vector<std::string> values_;
};

}  // namespace det::collectives::node
