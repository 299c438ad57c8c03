#include "snapshot.hpp"

#include <det/foundation/instruction_sets.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "host_memory.hpp"
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
    static bool const can_stream = has_instruction_set(InstructionSet::avx2);
    if (size_bytes >= streamed_size_min_bytes && can_stream) {
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

enum class CopiedBy : std::uint8_t { host, device, device_later };

/// A contiguous part of the image.
struct CopyPiece {
    std::byte* to;
    std::byte const* from;
    std::uint64_t size_bytes;
    CopiedBy copied_by;
};

// Threads of the host share the pieces. The device reports when a batch of pieces is complete, and writing
// begins with the first one; at 55 GB/s a batch takes a millisecond.
constexpr std::uint64_t host_piece_size_bytes = std::uint64_t{4} << 20;
constexpr std::uint64_t device_batch_size_bytes = std::uint64_t{64} << 20;

/// Returns the pieces in the order of the image.
std::vector<CopyPiece> plan_pieces(ShardPlan const& shard, State const& state, std::byte* image,
                                   tensor::DeviceCopies const* devices) {
    std::vector<CopyPiece> pieces;
    for (std::size_t i = 0; i < shard.slices.size(); ++i) {
        auto const& tensor = state[shard.slices[i]];
        auto const size = tensor.size_bytes();
        auto* const to = image + shard.offsets[i];
        bool const is_on_device = devices != nullptr && size != 0 && devices->is_device_memory(tensor.data);
        auto const of_device = tensor.copy_later ? CopiedBy::device_later : CopiedBy::device;
        auto const copied_by = is_on_device ? of_device : CopiedBy::host;
        auto const piece_size = is_on_device ? device_batch_size_bytes : host_piece_size_bytes;
        for (std::uint64_t at = 0; at < size; at += piece_size)
            pieces.push_back({to + at, tensor.data + at, std::min(piece_size, size - at), copied_by});
    }
    return pieces;
}

/// Tracks how many leading pieces are complete while threads and the device copy pieces in any order.
class CopyProgress {
public:
    CopyProgress(std::vector<CopyPiece> pieces, std::byte const* image, std::uint64_t size_bytes,
                 std::function<void(std::uint64_t)> on_available)
        : pieces_(std::move(pieces)),
          image_(image),
          size_bytes_(size_bytes),
          on_available_(std::move(on_available)),
          is_copied_(pieces_.size()) {}

    std::vector<CopyPiece> const& pieces() const { return pieces_; }
    void on_copied(std::size_t piece) {
        std::lock_guard const lock(mutex_);
        is_copied_[piece] = true;
        auto const before = first_missing_;
        while (first_missing_ < pieces_.size() && is_copied_[first_missing_]) ++first_missing_;
        if (first_missing_ != before) report();
    }
    void report_if_empty() {
        if (pieces_.empty()) report();
    }

private:
    void report() {
        if (first_missing_ == pieces_.size()) return on_available_(size_bytes_);
        auto const& last = pieces_[first_missing_ - 1];
        on_available_(static_cast<std::uint64_t>(last.to - image_) + last.size_bytes);
    }

    std::vector<CopyPiece> const pieces_;
    std::byte const* const image_;
    std::uint64_t const size_bytes_;
    std::function<void(std::uint64_t)> const on_available_;
    std::mutex mutex_;
    std::vector<bool> is_copied_;
    std::size_t first_missing_ = 0;
};

void copy_on_host(int threads, CopyProgress& progress) {
    std::vector<std::size_t> own;
    for (std::size_t i = 0; i < progress.pieces().size(); ++i) {
        if (progress.pieces()[i].copied_by == CopiedBy::host) own.push_back(i);
    }
    std::atomic<std::size_t> next = 0;
    auto const thread_count = std::min<std::size_t>(static_cast<std::size_t>(threads), own.size());
    run_on_threads(static_cast<int>(thread_count), [&] {
        for (auto i = next++; i < own.size(); i = next++) {
            auto const& piece = progress.pieces()[own[i]];
            stream_copy(piece.to, piece.from, piece.size_bytes);
            progress.on_copied(own[i]);
        }
    });
}

/// Pieces that the device copies together.
struct CopyBatch {
    std::vector<std::size_t> pieces;
    std::unique_ptr<tensor::PendingCopies> copies = nullptr;
};

using CopyBatches = std::vector<CopyBatch>;

std::vector<std::vector<std::size_t>> cut_into_copy_batches(std::vector<CopyPiece> const& pieces,
                                                            CopiedBy copied_by) {
    std::vector<std::vector<std::size_t>> batches;
    std::uint64_t room = 0;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        if (pieces[i].copied_by != copied_by) continue;
        if (pieces[i].size_bytes > room) {
            batches.emplace_back();
            room = device_batch_size_bytes;
        }
        batches.back().push_back(i);
        room -= pieces[i].size_bytes;
    }
    return batches;
}

Result<CopyBatches> start_on_device(tensor::DeviceCopies* devices, CopyProgress const& progress,
                                    CopiedBy copied_by) {
    CopyBatches started;
    for (auto& pieces : cut_into_copy_batches(progress.pieces(), copied_by)) {
        std::vector<tensor::DeviceCopy> copies;
        for (auto const i : pieces) {
            auto const& piece = progress.pieces()[i];
            copies.push_back({piece.to, piece.from, piece.size_bytes});
        }
        DET_TRY_ASSIGN(auto pending, devices->start(tensor::CopyDirection::to_host, copies));
        started.push_back({std::move(pieces), std::move(pending)});
    }
    return Result<CopyBatches>(std::move(started));
}

Status finish_on_device(CopyBatches const& batches, CopyProgress& progress) {
    for (auto const& batch : batches) {
        DET_TRY(batch.copies->wait());
        for (auto const piece : batch.pieces) progress.on_copied(piece);
    }
    return Ok{};
}

class LateDeviceCopies final : public LateCopies {
public:
    LateDeviceCopies(std::shared_ptr<CopyProgress> progress, CopyBatches batches)
        : progress_(std::move(progress)), batches_(std::move(batches)) {}
    Status finish() override { return finish_on_device(batches_, *progress_); }

private:
    std::shared_ptr<CopyProgress> progress_;
    CopyBatches batches_;
};

}  // namespace

bool is_on_devices(ShardPlan const& shard, State const& state, tensor::DeviceCopies const* devices) {
    return devices != nullptr && std::ranges::any_of(shard.slices, [&](std::size_t slice) {
               return devices->is_device_memory(state[slice].data);
           });
}

Result<std::unique_ptr<LateCopies>> take_snapshot(ShardPlan const& shard, State const& state,
                                                  std::byte* image, SnapshotOptions const& options) {
    std::memcpy(image, shard.header.data(), shard.header.size());
    auto const progress = std::make_shared<CopyProgress>(plan_pieces(shard, state, image, options.devices),
                                                         image, shard.size_bytes, options.on_available);
    DET_TRY_ASSIGN(auto const soon, start_on_device(options.devices, *progress, CopiedBy::device));
    DET_TRY_ASSIGN(auto late, start_on_device(options.devices, *progress, CopiedBy::device_later));
    copy_on_host(options.threads, *progress);
    DET_TRY(finish_on_device(soon, *progress));
    progress->report_if_empty();
    if (late.empty()) return std::unique_ptr<LateCopies>();
    return std::unique_ptr<LateCopies>(std::make_unique<LateDeviceCopies>(progress, std::move(late)));
}

}  // namespace det::checkpoint
