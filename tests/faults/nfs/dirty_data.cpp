#include "dirty_data.hpp"

#include <algorithm>

namespace det::faults {

void DirtyData::write(std::uint64_t offset, std::string_view bytes, Time now) {
    if (bytes.empty()) return;
    if (extents_.empty()) since_ = now;
    // The extent that contains the offset or ends there, or a new one.
    auto extent = extents_.upper_bound(offset);
    bool const has_previous = extent != extents_.begin();
    if (has_previous) --extent;
    if (!has_previous || extent->first + extent->second.size() < offset)
        extent = extents_.try_emplace(offset).first;
    auto const at = static_cast<std::size_t>(offset - extent->first);
    auto& text = extent->second;
    text.resize(std::max(text.size(), at + bytes.size()));
    std::ranges::copy(bytes, text.begin() + static_cast<std::ptrdiff_t>(at));
    // Extents that the new bytes overlap or touch become part of this one.
    for (auto next = std::next(extent); next != extents_.end();) {
        auto const end = extent->first + text.size();
        if (next->first > end) break;
        auto const covered = static_cast<std::size_t>(end - next->first);
        if (covered < next->second.size()) text += next->second.substr(covered);
        next = extents_.erase(next);
    }
}

void DirtyData::overlay(std::uint64_t offset, std::span<char> buffer) const {
    auto const end = offset + buffer.size();
    for (auto const& [begin, text] : extents_) {
        auto const from = std::max(begin, offset);
        auto const to = std::min(begin + text.size(), end);
        if (from >= to) continue;
        std::copy_n(text.begin() + static_cast<std::ptrdiff_t>(from - begin), to - from,
                    buffer.begin() + static_cast<std::ptrdiff_t>(from - offset));
    }
}

std::uint64_t DirtyData::end() const {
    if (extents_.empty()) return 0;
    auto const& [begin, text] = *extents_.rbegin();
    return begin + text.size();
}

std::uint64_t DirtyData::size_bytes() const {
    std::uint64_t size = 0;
    for (auto const& [begin, text] : extents_) size += text.size();
    return size;
}

}  // namespace det::faults
