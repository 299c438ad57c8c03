#pragma once
#include <string>

#include "operation.hpp"

namespace det::collectives::node {

/// Byte strings of unequal size, of all ranks or of one, to all ranks or to one.
class ObjectOperation final : public Operation {
public:
    ObjectOperation(collectives::Call call, std::string value, Status const& refused);

    /// Once it is over: values by rank; those that do not come to this rank are empty.
    std::vector<std::string> take_values(RankSlot const& slot);

private:
    std::size_t location(RankSlot& slot, Payload& payload) override;
    bool on_all_entered(RankSlot& slot, ExchangePlan& plan) override;

    bool is_source(int rank) const;
    bool is_target(int rank) const;
    /// Whether the value came with the arrival of its rank; then it is taken.
    bool take_small(RankSlot const& slot, int rank, std::size_t size);

    std::string own_;
    std::vector<std::string> values_;
};

}  // namespace det::collectives::node
