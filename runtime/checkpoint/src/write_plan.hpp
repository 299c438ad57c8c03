#pragma once
#include <det/checkpoint/state.hpp>
#include <det/protocol/checkpoint_manifest.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace det::checkpoint {

std::vector<LocalTensorSlice> slices_of(State const& state);
std::string render_slices(std::vector<LocalTensorSlice> const& slices);
Result<std::vector<LocalTensorSlice>> parse_slices(std::string_view text);

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

}  // namespace det::checkpoint
