#include "device_load.hpp"

#include <algorithm>
#include <array>

#include "host_memory.hpp"

namespace det::checkpoint {
namespace {

/// Cuts the tensor along the first dimension that is longer than 1, so that each piece is contiguous.
void add_pieces(NamedTensor const& tensor, std::uint64_t size_max_bytes, State& pieces) {
    auto const size = tensor.size_bytes();
    auto const& shape = tensor.part.shape;
    auto const first = std::ranges::find_if(shape, [](auto length) { return length > 1; });
    if (size <= size_max_bytes || first == shape.end()) {
        if (size != 0) pieces.push_back(tensor);
        return;
    }
    auto const dimension = static_cast<std::size_t>(first - shape.begin());
    auto const row = size / *first;
    auto const rows = std::max<std::uint64_t>(1, size_max_bytes / row);
    for (std::uint64_t at = 0; at < *first; at += rows) {
        auto piece = tensor;
        piece.part.begin[dimension] += at;
        piece.part.shape[dimension] = std::min(rows, *first - at);
        piece.data += at * row;
        add_pieces(piece, size_max_bytes, pieces);
    }
}

std::uint64_t size_bytes_of(State const& state) {
    std::uint64_t size = 0;
    for (auto const& tensor : state) size += tensor.size_bytes();
    return size;
}

/// A copy of the batch in which the data of the tensors is in `memory`.
State host_copy_of(State const& batch, HostMemory const& memory) {
    auto host_copy = batch;
    auto* next = memory.data();
    for (auto& tensor : host_copy) {
        tensor.data = next;
        next += tensor.size_bytes();
    }
    return host_copy;
}

/// A buffer in host memory, and the pending copies from it to the device.
struct Buffer {
    PinnedMemory memory;
    std::unique_ptr<tensor::PendingCopies> pending;  // declared last: its destructor runs first, and waits

    Status wait() {
        auto const copies = std::exchange(pending, nullptr);
        return copies ? copies->wait() : Status(Ok{});
    }
    Status start(tensor::DeviceCopies& devices, State const& batch, State const& host_copy) {
        std::vector<tensor::DeviceCopy> copies;
        for (std::size_t i = 0; i < batch.size(); ++i)
            copies.push_back({batch[i].data, host_copy[i].data, batch[i].size_bytes()});
        DET_TRY_ASSIGN(pending, devices.start(tensor::CopyDirection::to_device, copies));
        return Ok{};
    }
};

}  // namespace

std::vector<State> cut_into_batches(State const& state, std::uint64_t size_max_bytes) {
    State pieces;
    for (auto const& tensor : state) add_pieces(tensor, size_max_bytes, pieces);
    std::vector<State> batches;
    std::uint64_t size = 0;  // of the last batch
    for (auto& piece : pieces) {
        auto const more = piece.size_bytes();
        if (batches.empty() || size + more > size_max_bytes) {
            batches.emplace_back();
            size = 0;
        }
        batches.back().push_back(std::move(piece));
        size += more;
    }
    return batches;
}

Status load_to_devices(State const& state, LoadOptions const& options,
                       std::function<Status(State const&)> const& read) {
    auto const batches = cut_into_batches(state, options.device_part_size_bytes);
    std::uint64_t largest = 0;
    for (auto const& batch : batches) largest = std::max(largest, size_bytes_of(batch));
    std::array<Buffer, 2> buffers;
    for (std::size_t i = 0; i < batches.size(); ++i) {
        auto& buffer = buffers[i % buffers.size()];
        DET_TRY(buffer.wait());
        DET_TRY(buffer.memory.reserve(largest, options.devices));
        auto const host_copy = host_copy_of(batches[i], buffer.memory.memory());
        DET_TRY(read(host_copy));
        DET_TRY(buffer.start(*options.devices, batches[i], host_copy));
    }
    for (auto& buffer : buffers) DET_TRY(buffer.wait());
    return Ok{};
}

}  // namespace det::checkpoint
