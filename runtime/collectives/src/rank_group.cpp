#include <det/collectives/rank_group.hpp>

#include <cstring>
#include <fmt/format.h>
#include <new>

namespace det::collectives {
namespace {

constexpr std::align_val_t page{4096};

}  // namespace

Result<Buffer> allocate_private(std::size_t size_bytes) {
    if (size_bytes == 0) return Buffer{};
    auto* const memory = ::operator new(size_bytes, page, std::nothrow);
    if (memory == nullptr) {
        return Error{codes::misuse, fmt::format("there is no memory for a buffer of {} bytes", size_bytes)};
    }
    std::memset(memory, 0, size_bytes);
    return Buffer({static_cast<std::byte*>(memory), size_bytes},
                  [](std::span<std::byte> bytes) { ::operator delete(bytes.data(), page); });
}

Status RankGroup::use_stream(void*) {
    return Error{codes::misuse, "these ranks have no devices, and so no streams"};
}

Result<Buffer> RankGroup::allocate(std::size_t size_bytes) { return allocate_private(size_bytes); }

}  // namespace det::collectives
