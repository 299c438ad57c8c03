#include "object_operation.hpp"

#include <algorithm>
#include <cstring>

namespace det::collectives::node {
namespace {

using collectives::Kind;

/// The size of a value: the first bytes of a cell's payload. A tiny value follows it.
using Size = std::uint64_t;
constexpr std::size_t tiny_limit_bytes = payload_bytes - sizeof(Size);

char const* text(std::byte const* bytes) { return reinterpret_cast<char const*>(bytes); }

}  // namespace

ObjectOperation::ObjectOperation(collectives::Call call, std::string value, Status const& refused)
    : Operation(call, refused), own_(std::move(value)) {}

bool ObjectOperation::is_source(int rank) const {
    return call().kind != Kind::broadcast_object || rank == call().root;
}

bool ObjectOperation::is_target(int rank) const { return call().kind != Kind::gather || rank == call().root; }

std::size_t ObjectOperation::location(RankSlot& slot, Payload& payload) {
    if (!is_source(slot.rank)) return 0;
    Size const size = own_.size();
    std::memcpy(payload.data(), &size, sizeof size);
    auto const* const bytes = reinterpret_cast<std::byte const*>(own_.data());
    if (size <= tiny_limit_bytes) {
        std::copy_n(bytes, size, payload.data() + sizeof size);
        return sizeof size + size;
    }
    if (size <= slot.control.geometry().small_limit_bytes) {
        collectives::copy(slot.control.small(slot.sequence, slot.rank), bytes, size);
    }
    return sizeof size;
}

bool ObjectOperation::take_small(RankSlot const& slot, int rank, std::size_t size) {
    if (size > std::max(tiny_limit_bytes, slot.control.geometry().small_limit_bytes)) return false;
    if (!is_target(slot.rank) || rank == slot.rank) return true;
    auto const* const bytes = size <= tiny_limit_bytes ? slot.cell(rank).payload.data() + sizeof(Size)
                                                       : slot.control.small(slot.sequence, rank);
    values_[static_cast<std::size_t>(rank)].assign(text(bytes), size);
    return true;
}

bool ObjectOperation::on_all_entered(RankSlot& slot, ExchangePlan& plan) {
    values_.resize(static_cast<std::size_t>(slot.ranks));
    std::size_t longest = 0;
    for (int rank = 0; rank < slot.ranks; ++rank) {
        if (!is_source(rank)) continue;
        Size size = 0;
        std::memcpy(&size, slot.cell(rank).payload.data(), sizeof size);
        if (take_small(slot, rank, size)) continue;
        if (longest == 0) plan.clear(slot.ranks);
        longest = std::max<std::size_t>(longest, size);
        auto const index = static_cast<std::size_t>(rank);
        if (rank == slot.rank) {
            plan.sends[index] = std::as_bytes(std::span(own_));
        } else if (is_target(slot.rank)) {
            values_[index].resize(size);
            plan.receives[index] = std::as_writable_bytes(std::span(values_[index]));
        }
    }
    plan.longest_bytes = longest;
    return longest != 0;
}

std::vector<std::string> ObjectOperation::take_values(RankSlot const& slot) {
    auto const own = static_cast<std::size_t>(slot.rank);
    if (is_source(slot.rank) && is_target(slot.rank)) values_[own] = std::move(own_);
    return std::move(values_);
}

}  // namespace det::collectives::node
