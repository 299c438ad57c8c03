#pragma once
#include <det/checkpoint/peers.hpp>

#include <memory>

#include "write_plan.hpp"

namespace det::checkpoint {

/// How ranks come to one plan of who writes what. The plan of the last time is kept: training saves the same
/// tensors again and again, and then a few bytes are all that ranks have to tell each other.
class SaveAgreement {
public:
    explicit SaveAgreement(Peers& peers) : peers_(peers) {}

    struct Agreed {
        std::string uuid;  // the chief's
        std::shared_ptr<WritePlan const> plan;
    };
    /// Collective. codes::misuse, on all ranks, where one's state is no state, they don't fit together, or
    /// they differ about the step; and what is wrong with one besides (`own`) is an error on all.
    Result<Agreed> agree(std::uint64_t steps_completed, State const& state, Status const& own);

private:
    Result<std::shared_ptr<WritePlan const>> plan_anew(std::vector<LocalTensorSlice> slices);

    Peers& peers_;
    std::vector<LocalTensorSlice> slices_;  // of this rank, in plan_
    std::shared_ptr<WritePlan const> plan_;
};

}  // namespace det::checkpoint
