#include "pinned_memory.hpp"

namespace det::checkpoint {

Status PinnedMemory::make_room(std::size_t size_bytes, tensor::DeviceCopies* devices) {
    if (memory_.size_bytes() < size_bytes) {
        pinned_.reset();
        was_tried_ = false;
        memory_ = HostMemory();  // first: there may be no room for both
        DET_TRY_ASSIGN(memory_, HostMemory::allocate(size_bytes));
    }
    if (devices == nullptr || was_tried_ || memory_.size_bytes() == 0) return Ok{};
    was_tried_ = true;
    auto pinned = devices->pin({memory_.data(), memory_.size_bytes()});
    if (pinned)
        pinned_ = *std::move(pinned);
    else
        refusal_ = std::move(pinned).error();
    return Ok{};
}

}  // namespace det::checkpoint
