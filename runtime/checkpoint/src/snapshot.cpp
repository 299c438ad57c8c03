#include "snapshot.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>

#include "stream_copy.hpp"
#include "workers.hpp"

namespace det::checkpoint {
namespace {

constexpr std::uint64_t chunk_size_bytes = std::uint64_t{4} << 20;

struct Chunk {
    std::byte* to;
    std::byte const* from;
    std::uint64_t size_bytes;
};

/// What is to be copied, by whom.
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

/// How far the image is there, when chunks are copied in turn by several threads.
class Front {
public:
    Front(std::vector<Chunk> const& chunks, std::function<void(Chunk const&)> on_there)
        : chunks_(chunks), on_there_(std::move(on_there)), is_copied_(chunks.size()) {}

    void on_copied(std::size_t chunk) {
        std::lock_guard const lock(mutex_);
        is_copied_[chunk] = true;
        auto const before = first_missing_;
        while (first_missing_ < chunks_.size() && is_copied_[first_missing_]) ++first_missing_;
        if (first_missing_ != before) on_there_(chunks_[first_missing_ - 1]);
    }

private:
    std::vector<Chunk> const& chunks_;
    std::function<void(Chunk const&)> on_there_;
    std::mutex mutex_;
    std::vector<bool> is_copied_;
    std::size_t first_missing_ = 0;
};

void copy_on_host(std::vector<Chunk> const& chunks, int threads, Front& front) {
    std::atomic<std::size_t> next = 0;
    auto const useful = std::min<std::size_t>(static_cast<std::size_t>(threads), chunks.size());
    run_side_by_side(static_cast<int>(useful), [&] {
        for (auto i = next++; i < chunks.size(); i = next++) {
            stream_copy(chunks[i].to, chunks[i].from, chunks[i].size_bytes);
            front.on_copied(i);
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
    Front front(copies.by_host, [&](Chunk const& chunk) {
        // What devices copy lies between what is copied here.
        if (!pending)
            options.on_there(static_cast<std::uint64_t>(chunk.to - memory.data()) + chunk.size_bytes);
    });
    copy_on_host(copies.by_host, options.threads, front);
    if (pending) DET_TRY(pending->wait());
    options.on_there(shard.size_bytes);
    return Ok{};
}

}  // namespace det::checkpoint
