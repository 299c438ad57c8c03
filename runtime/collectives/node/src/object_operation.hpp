#pragma once
#include <string>

#include "operation.hpp"

namespace det::collectives::node {

/// Byte strings of unequal size: of all ranks or of one, to all ranks or to one.
class ObjectOperation final : public Operation {
public:
    ObjectOperation(collectives::Call call, std::string value, Status const& refused);

    /// Values by rank, once the operation is complete. Values that do not come to this rank are empty.
    std::vector<std::string> take_values(RankSlot const& slot);

private:
    std::size_t location(RankSlot& slot, Payload& payload) override;
    bool on_all_entered(RankSlot& slot, ExchangePlan& plan) override;

    bool is_source(int rank) const;
    bool is_target(int rank) const;
    /// Takes the value if its rank left it with its entry. Returns whether it did.
    bool take_small(RankSlot const& slot, int rank, std::size_t size);

    std::string own_;
    std::vector<std::string> values_;
};

}  // namespace det::collectives::node
