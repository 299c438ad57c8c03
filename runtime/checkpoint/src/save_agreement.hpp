#pragma once
#include <det/checkpoint/peers.hpp>

#include <memory>

#include "write_plan.hpp"

namespace det::checkpoint {

/// Agrees with the other ranks on which rank writes which slices. Keeps the plan of the last save. If the
/// tensors are the same in the next save, which is usual in training, ranks exchange only a few bytes.
class SaveAgreement {
public:
    explicit SaveAgreement(Peers& peers) : peers_(peers) {}

    struct Agreed {
        std::string uuid;  // chosen by the chief
        std::shared_ptr<WritePlan const> plan;
    };
    /// Agrees on the next save. Collective.
    /// \param own Ok, or an error of this rank, which becomes the error of all ranks
    /// \return codes::misuse, on all ranks, if the state of a rank is not valid, the states do not fit
    ///     together, or the ranks differ in steps_completed
    Result<Agreed> agree(std::uint64_t steps_completed, State const& state, Status const& own);

private:
    Result<std::shared_ptr<WritePlan const>> plan_anew(std::vector<LocalTensorSlice> slices);

    Peers& peers_;
    std::vector<LocalTensorSlice> slices_;  // this rank's, for which plan_ was made
    std::shared_ptr<WritePlan const> plan_;
};

}  // namespace det::checkpoint
