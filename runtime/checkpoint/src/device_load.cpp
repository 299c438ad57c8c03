#include "device_load.hpp"

#include <algorithm>
#include <array>

#include "host_memory.hpp"

namespace det::checkpoint {
namespace {

/// Along the first dimension that can be cut: what comes of it is in one piece.
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

/// The same, in memory of the host.
State twin_of(State const& batch, HostMemory const& memory) {
    auto twin = batch;
    auto* next = memory.data();
    for (auto& tensor : twin) {
        tensor.data = next;
        next += tensor.size_bytes();
    }
    return twin;
}

/// A part of the host's memory, and the copies out of it.
struct Part {
    PinnedMemory memory;
    std::unique_ptr<tensor::PendingCopies> pending;  // after the memory: they end first

    Status wait() {
        auto const copies = std::exchange(pending, nullptr);
        return copies ? copies->wait() : Status(Ok{});
    }
    Status start(tensor::DeviceCopies& devices, State const& batch, State const& twin) {
        std::vector<tensor::DeviceCopy> copies;
        for (std::size_t i = 0; i < batch.size(); ++i)
            copies.push_back({batch[i].data, twin[i].data, batch[i].size_bytes()});
        DET_TRY_ASSIGN(pending, devices.start(tensor::CopyDirection::to_device, copies));
        return Ok{};
    }
};

}  // namespace

std::vector<State> cut_into_batches(State const& state, std::uint64_t size_max_bytes) {
    State pieces;
    for (auto const& tensor : state) add_pieces(tensor, size_max_bytes, pieces);
    std::vector<State> batches;
    std::uint64_t size = 0;  // of the last
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
    std::array<Part, 2> parts;
    for (std::size_t i = 0; i < batches.size(); ++i) {
        auto& part = parts[i % parts.size()];
        DET_TRY(part.wait());
        DET_TRY(part.memory.make_room(largest, options.devices));
        auto const twin = twin_of(batches[i], part.memory.memory());
        DET_TRY(read(twin));
        DET_TRY(part.start(*options.devices, batches[i], twin));
    }
    for (auto& part : parts) DET_TRY(part.wait());
    return Ok{};
}

}  // namespace det::checkpoint
