#pragma once
#include <det/checkpoint/state.hpp>
#include <det/protocol/checkpoint_manifest.hpp>

#include <vector>

namespace det::checkpoint {

/// A range of bytes of a shard, and the memory to copy it to.
struct Piece {
    std::uint64_t offset_bytes = 0;  // in the shard
    std::uint64_t size_bytes = 0;
    std::byte* to = nullptr;
};

/// The pieces to copy from one block.
struct BlockRead {
    std::size_t shard = 0;  // in ReadPlan::shards
    std::size_t block = 0;
    std::vector<Piece> pieces;  // offsets are from the block's beginning
};

struct ReadPlan {
    std::vector<CheckpointFile const*> shards;  // of the manifest
    std::vector<BlockRead> reads;               // ordered by shard and block
};

/// Plans which blocks to read: those that hold elements of the state's parts. The save may have divided the
/// tensors in any way. Pure.
/// \return codes::misuse if the checkpoint lacks a tensor or has it with another type or shape;
///     codes::checkpoint_damaged if the manifest contradicts itself
Result<ReadPlan> plan_reads(CheckpointManifest const& manifest, State const& state);

}  // namespace det::checkpoint
