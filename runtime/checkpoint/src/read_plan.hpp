#pragma once
#include <det/checkpoint/state.hpp>
#include <det/protocol/checkpoint_manifest.hpp>

#include <cstddef>
#include <vector>

namespace det::checkpoint {

/// Bytes of a shard and where they go.
struct Piece {
    std::uint64_t offset_bytes = 0;  // in the shard
    std::uint64_t size_bytes = 0;
    std::byte* to = nullptr;
};

/// The wanted pieces of one block.
struct BlockRead {
    std::size_t shard = 0;  // in ReadPlan::shards
    std::size_t block = 0;
    std::vector<Piece> pieces;  // offsets are from the block's beginning
};

struct ReadPlan {
    std::vector<CheckpointFile const*> shards;  // of the manifest
    std::vector<BlockRead> reads;               // by shard and block
};

/// Pure: only blocks that hold something of the state's parts are read, however the tensors were cut when
/// they were saved. codes::misuse where the checkpoint has no such tensor or another type or shape of it;
/// codes::checkpoint_damaged where the manifest contradicts itself.
Result<ReadPlan> plan_reads(CheckpointManifest const& manifest, State const& state);

}  // namespace det::checkpoint
