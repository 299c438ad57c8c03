#pragma once
#include <det/checkpoint/peers.hpp>
#include <det/checkpoint/state.hpp>
#include <det/protocol/checkpoint_manifest.hpp>

#include <memory>
#include <string>
#include <vector>

namespace det::checkpoint {

/// The file that a rank writes. `slices` is empty if the rank writes none.
struct ShardPlan {
    std::string file;                    // "rank-00003.safetensors"
    std::string header;                  // the first bytes of the file
    std::vector<std::size_t> slices;     // indices of the rank's slices that it writes, in file order
    std::vector<std::uint64_t> offsets;  // the offset of each slice in the file
    std::uint64_t size_bytes = 0;        // of the file
};

struct WritePlan {
    std::vector<ShardPlan> shards;      // of each rank
    std::vector<StoredTensor> tensors;  // the tensors of the manifest
};

/// Plans which rank writes which slices. If several ranks hold a part, the one with the least to write so far
/// writes it. Pure, so that every rank computes the same plan.
/// \return codes::misuse if ranks differ about a tensor, or parts overlap or leave a gap
Result<WritePlan> plan_writes(std::vector<std::vector<LocalTensorSlice>> const& ranks);

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
