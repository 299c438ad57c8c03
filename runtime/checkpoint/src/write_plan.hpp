#pragma once
#include <det/checkpoint/tensor.hpp>
#include <det/protocol/checkpoint_manifest.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace det::checkpoint {

/// What a rank holds of a tensor, without the data.
struct Holding {
    std::string name;
    Dtype dtype = Dtype::f32;
    Extents shape;
    Box part;
    friend bool operator==(Holding const&, Holding const&) = default;
};

std::vector<Holding> holdings_of(State const& state);
std::string render_holdings(std::vector<Holding> const& holdings);
Result<std::vector<Holding>> parse_holdings(std::string_view text);

/// What a rank writes: a file, empty where it has nothing to write.
struct ShardPlan {
    std::string file;                    // "rank-00003.safetensors"
    std::string header;                  // what it begins with
    std::vector<std::size_t> holdings;   // the rank's holdings that it writes, in the order of the file
    std::vector<std::uint64_t> offsets;  // where each begins in the file
    std::uint64_t size_bytes = 0;        // of the file
};

struct WritePlan {
    std::vector<ShardPlan> shards;      // of each rank
    std::vector<StoredTensor> tensors;  // what the manifest will say
};

/// Pure, so that every rank comes to the same plan. A part that several ranks hold is written by the one of
/// them that has least to write. codes::misuse where ranks differ about a tensor, or parts overlap or leave
/// a gap.
Result<WritePlan> plan_writes(std::vector<std::vector<Holding>> const& ranks);

}  // namespace det::checkpoint
