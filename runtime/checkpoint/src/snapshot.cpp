#include "snapshot.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <mutex>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "parallel.hpp"

namespace det::checkpoint {
namespace {

#if defined(__x86_64__)
constexpr std::size_t line_bytes = 64;
// Lines of two pages are copied in turn, so that more DRAM rows are open at once.
constexpr std::size_t stride_bytes = 2 * page_bytes;

[[gnu::target("avx2")]] inline void stream_line(std::byte* to, std::byte const* from) {
    auto const low = _mm256_loadu_si256(reinterpret_cast<__m256i const*>(from));
    auto const high = _mm256_loadu_si256(reinterpret_cast<__m256i const*>(from + 32));
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to), low);
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to + 32), high);
}

/// Copies whole cache lines. `to` must be aligned to a line, and size_bytes must be a multiple of a line.
[[gnu::target("avx2")]] void stream_lines(std::byte* to, std::byte const* from, std::size_t size_bytes) {
    std::size_t at = 0;
    for (; size_bytes - at >= stride_bytes; at += stride_bytes) {
        for (std::size_t line = 0; line < page_bytes; line += line_bytes) {
            stream_line(to + at + line, from + at + line);
            stream_line(to + at + page_bytes + line, from + at + page_bytes + line);
        }
    }
    for (; at < size_bytes; at += line_bytes) stream_line(to + at, from + at);
    _mm_sfence();
}
#endif

constexpr std::size_t streamed_size_min_bytes = 4096;

/// A memcpy for data that is not read again soon. With AVX2, large copies use stores that bypass the caches:
/// each byte crosses the memory bus twice instead of three times, and the data of the training stays in the
/// caches.
void stream_copy(std::byte* to, std::byte const* from, std::size_t size_bytes) {
#if defined(__x86_64__)
    if (size_bytes >= streamed_size_min_bytes && __builtin_cpu_supports("avx2")) {
        auto const head = (line_bytes - reinterpret_cast<std::uintptr_t>(to) % line_bytes) % line_bytes;
        auto const lines = (size_bytes - head) / line_bytes * line_bytes;
        std::memcpy(to, from, head);
        stream_lines(to + head, from + head, lines);
        std::memcpy(to + head + lines, from + head + lines, size_bytes - head - lines);
        return;
    }
#endif
    if (size_bytes != 0) std::memcpy(to, from, size_bytes);
}

constexpr std::uint64_t chunk_size_bytes = std::uint64_t{4} << 20;

struct Chunk {
    std::byte* to;
    std::byte const* from;
    std::uint64_t size_bytes;
};

/// The copies that host threads make, and those that the device makes.
struct Copies {
    std::vector<Chunk> by_host;
    std::vector<tensor::DeviceCopy> by_device;
};

Copies plan_copies(ShardPlan const& shard, State const& state, HostMemory const& memory,
                   tensor::DeviceCopies const* devices) {
    Copies copies;
    for (std::size_t i = 0; i < shard.slices.size(); ++i) {
        auto const& tensor = state[shard.slices[i]];
        auto const size = tensor.size_bytes();
        auto* const to = memory.data() + shard.offsets[i];
        if (devices != nullptr && size != 0 && devices->is_device_memory(tensor.data)) {
            copies.by_device.push_back({to, tensor.data, size});
            continue;
        }
        for (std::uint64_t at = 0; at < size; at += chunk_size_bytes)
            copies.by_host.push_back({to + at, tensor.data + at, std::min(chunk_size_bytes, size - at)});
    }
    return copies;
}

/// Tracks how many leading chunks are complete while several threads copy chunks in any order.
class CopyProgress {
public:
    CopyProgress(std::vector<Chunk> const& chunks, std::function<void(Chunk const&)> on_available)
        : chunks_(chunks), on_available_(std::move(on_available)), is_copied_(chunks.size()) {}

    void on_copied(std::size_t chunk) {
        std::lock_guard const lock(mutex_);
        is_copied_[chunk] = true;
        auto const before = first_missing_;
        while (first_missing_ < chunks_.size() && is_copied_[first_missing_]) ++first_missing_;
        if (first_missing_ != before) on_available_(chunks_[first_missing_ - 1]);
    }

private:
    std::vector<Chunk> const& chunks_;
    std::function<void(Chunk const&)> on_available_;
    std::mutex mutex_;
    std::vector<bool> is_copied_;
    std::size_t first_missing_ = 0;
};

void copy_on_host(std::vector<Chunk> const& chunks, int threads, CopyProgress& progress) {
    std::atomic<std::size_t> next = 0;
    auto const thread_count = std::min<std::size_t>(static_cast<std::size_t>(threads), chunks.size());
    run_on_threads(static_cast<int>(thread_count), [&] {
        for (auto i = next++; i < chunks.size(); i = next++) {
            stream_copy(chunks[i].to, chunks[i].from, chunks[i].size_bytes);
            progress.on_copied(i);
        }
    });
}

}  // namespace

bool is_on_devices(ShardPlan const& shard, State const& state, tensor::DeviceCopies const* devices) {
    return devices != nullptr && std::ranges::any_of(shard.slices, [&](std::size_t slice) {
               return devices->is_device_memory(state[slice].data);
           });
}

Status take_snapshot(ShardPlan const& shard, State const& state, HostMemory const& memory,
                     SnapshotOptions const& options) {
    std::memcpy(memory.data(), shard.header.data(), shard.header.size());
    auto const copies = plan_copies(shard, state, memory, options.devices);
    std::unique_ptr<tensor::PendingCopies> pending;
    if (!copies.by_device.empty()) {
        DET_TRY_ASSIGN(pending, options.devices->start(tensor::CopyDirection::to_host, copies.by_device));
    }
    CopyProgress progress(copies.by_host, [&](Chunk const& chunk) {
        // With pending device copies, no prefix of the image is known to be complete.
        if (!pending)
            options.on_available(static_cast<std::uint64_t>(chunk.to - memory.data()) + chunk.size_bytes);
    });
    copy_on_host(copies.by_host, options.threads, progress);
    if (pending) DET_TRY(pending->wait());
    options.on_available(shard.size_bytes);
    return Ok{};
}

}  // namespace det::checkpoint
