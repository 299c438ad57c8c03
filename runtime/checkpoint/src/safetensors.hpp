#pragma once
#include <det/checkpoint/state.hpp>

#include <string>
#include <vector>

namespace det::checkpoint {

/// A tensor as a safetensors file names it.
struct ShardTensor {
    std::string name;
    DataType type = DataType::float32;
    Extents shape;
    std::uint64_t offset_bytes = 0;  // in the file, not in its data
    std::uint64_t size_bytes = 0;
    friend bool operator==(ShardTensor const&, ShardTensor const&) = default;
};

/// Direct I/O, and those who map the file, want data to begin at a page.
inline constexpr std::size_t shard_alignment_bytes = 4096;

/// What a safetensors file begins with, up to its data, padded with spaces to whole pages. Sets each tensor's
/// offset and size: in the order given, without gaps.
std::string render_shard_header(std::vector<ShardTensor>& tensors);

}  // namespace det::checkpoint
