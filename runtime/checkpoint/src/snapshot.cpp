#include "snapshot.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "stream_copy.hpp"
#include "workers.hpp"

namespace det::checkpoint {
namespace {

constexpr std::uint64_t chunk_size_bytes = std::uint64_t{16} << 20;

struct Chunk {
    std::byte* to;
    std::byte const* from;
    std::uint64_t size_bytes;
};

std::vector<Chunk> cut(ShardPlan const& shard, State const& state, HostMemory const& memory) {
    std::vector<Chunk> chunks;
    for (std::size_t i = 0; i < shard.holdings.size(); ++i) {
        auto const& tensor = state[shard.holdings[i]];
        auto const size = tensor.size_bytes();
        for (std::uint64_t at = 0; at < size; at += chunk_size_bytes) {
            chunks.push_back({memory.data() + shard.offsets[i] + at, tensor.data + at,
                              std::min(chunk_size_bytes, size - at)});
        }
    }
    return chunks;
}

}  // namespace

void take_snapshot(ShardPlan const& shard, State const& state, int threads, HostMemory const& memory) {
    std::memcpy(memory.data(), shard.header.data(), shard.header.size());
    auto const chunks = cut(shard, state, memory);
    std::atomic<std::size_t> next = 0;
    auto const useful = std::min<std::size_t>(static_cast<std::size_t>(threads), chunks.size());
    run_side_by_side(static_cast<int>(useful), [&] {
        for (auto i = next++; i < chunks.size(); i = next++)
            stream_copy(chunks[i].to, chunks[i].from, chunks[i].size_bytes);
    });
}

}  // namespace det::checkpoint
