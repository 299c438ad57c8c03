#pragma once
#include <string>

#include "operation.hpp"

namespace det::collectives::node {

/// A gather, allgather or broadcast of byte strings with different sizes.
class ObjectOperation final : public Operation {
public:
    ObjectOperation(collectives::Call call, std::string value, Status const& refused);

    /// After completion: the values by rank. Values that this rank does not receive are empty.
    std::vector<std::string> take_values(RankSlot const& slot);

private:
    std::size_t location(RankSlot& slot, Payload& payload) override;
    bool on_all_entered(RankSlot& slot, ExchangePlan& plan) override;

    bool is_source(int rank) const;
    bool is_target(int rank) const;
    /// Takes the value if the rank has passed it in its cell. Returns whether it did.
    bool take_small(RankSlot const& slot, int rank, std::size_t size);

    std::string own_;
    std::vector<std::string> values_;
};

}  // namespace det::collectives::node
