#include "tensor_operation.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>

namespace det::collectives::node {
namespace {

using collectives::Destination;
using collectives::Kind;
using collectives::Store;

// Results that do not fit the caches are written with stores that bypass them.
constexpr std::size_t streaming_from_bytes = std::size_t{24} << 20;

BufferLocation location_of(RankSlot const& slot, int rank) {
    BufferLocation location;
    std::memcpy(&location, slot.cell(rank).payload.data(), sizeof location);
    return location;
}

template <class T>
T part_of(T whole, int part, int parts) {
    auto const size = whole.size() / static_cast<std::size_t>(parts);
    return whole.subspan(static_cast<std::size_t>(part) * size, size);
}

/// Like part_of, for sizes that may not be divisible. Each slice has whole cache lines, except at the end.
template <class T>
T slice_of(T whole, int slice, int slices) {
    auto const count = static_cast<std::size_t>(slices);
    auto const step = ((whole.size() + count - 1) / count + line_bytes - 1) / line_bytes * line_bytes;
    auto const begin = std::min(static_cast<std::size_t>(slice) * step, whole.size());
    return whole.subspan(begin, std::min(step, whole.size() - begin));
}

bool overlap(Bytes a, Bytes b) {
    std::less<> const lies_before;
    return !a.empty() && !b.empty() && lies_before(a.data(), b.data() + b.size()) &&
           lies_before(b.data(), a.data() + a.size());
}

}  // namespace

std::size_t BufferLocation::write(Payload& payload) const {
    static_assert(sizeof *this <= payload_bytes);
    std::memcpy(payload.data(), this, sizeof *this);
    return sizeof *this;
}

TensorOperation::TensorOperation(collectives::TensorCall const& call, Status const& refused)
    : Operation(call_of(call), refused),
      tensors_(call),
      size_bytes_(call.kind == Kind::broadcast ? bytes_of(call.out).size() : bytes_of(call.in).size()) {}

Bytes TensorOperation::contribution(RankSlot const& slot) const {
    if (tensors_.kind != Kind::broadcast) return bytes_of(tensors_.in);
    return slot.rank == tensors_.root.value ? Bytes(bytes_of(tensors_.out)) : Bytes();
}

bool TensorOperation::uses(Bytes memory) const {
    return overlap(memory, bytes_of(tensors_.in)) || overlap(memory, bytes_of(tensors_.out));
}

bool TensorOperation::is_source(int rank) const {
    return tensors_.kind != Kind::broadcast || rank == tensors_.root.value;
}

std::size_t TensorOperation::location(RankSlot& slot, Payload& payload) {
    auto const bytes = contribution(slot);
    if (size_bytes_ <= payload_bytes) {
        std::copy(bytes.begin(), bytes.end(), payload.begin());
        return bytes.size();
    }
    if (auto const shared = locate_shared(slot, bytes)) return shared->write(payload);
    bool const is_small = fits_small_buffer(slot);
    if (is_small) collectives::copy(slot.control.small(slot.sequence, slot.rank), bytes.data(), bytes.size());
    BufferLocation const own{.in = is_small ? BufferLocation::in_small_buffer : BufferLocation::nowhere,
                             .out = slot.arena ? BufferLocation::not_needed : BufferLocation::nowhere};
    return own.write(payload);
}

bool TensorOperation::fits_small_buffer(RankSlot const& slot) const {
    auto const& geometry = slot.control.geometry();
    if (size_bytes_ <= geometry.small_limit_bytes) return true;
    bool const all_need_all = tensors_.kind == Kind::allreduce || tensors_.kind == Kind::allgather_elements;
    return slot.ranks == 2 && all_need_all && size_bytes_ <= geometry.pair_limit_bytes;
}

std::optional<BufferLocation> TensorOperation::locate_shared(RankSlot const& slot, Bytes bytes) const {
    if (!slot.arena || size_bytes_ < shared_from_bytes || !is_source(slot.rank)) return std::nullopt;
    // A rank that works in place would overwrite data that other ranks have not read yet.
    if (tensors_.kind == Kind::all_to_all && tensors_.in.data == tensors_.out.data) return std::nullopt;
    auto const in = slot.arena->offset_of(bytes);
    auto const out = slot.arena->offset_of(bytes_of(tensors_.out));
    bool const others_write = tensors_.kind == Kind::allreduce ||
                              (tensors_.kind == Kind::reduce && slot.rank == tensors_.root.value);
    if (!in || (others_write && !out)) return std::nullopt;
    return BufferLocation{.in = *in, .out = others_write ? *out : BufferLocation::not_needed};
}

TensorOperation::DataPath TensorOperation::path_if_ranks_are_alike(RankSlot const& slot) const {
    if (size_bytes_ <= payload_bytes) return DataPath::cells;
    if (locate_shared(slot, contribution(slot))) return DataPath::shared_memory;
    return fits_small_buffer(slot) ? DataPath::small_buffers : DataPath::exchange;
}

TensorOperation::DataPath TensorOperation::choose_path(RankSlot const& slot) const {
    if (size_bytes_ <= payload_bytes) return DataPath::cells;
    bool all_small = true, all_shared = true;
    for (int rank = 0; rank < slot.ranks; ++rank) {
        auto const location = location_of(slot, rank);
        all_shared = all_shared && location.out != BufferLocation::nowhere;
        if (!is_source(rank)) continue;
        all_small = all_small && location.in == BufferLocation::in_small_buffer;
        all_shared = all_shared && location.in < BufferLocation::in_small_buffer;
    }
    if (all_small) return DataPath::small_buffers;
    return all_shared ? DataPath::shared_memory : DataPath::exchange;
}

bool TensorOperation::on_all_entered(RankSlot& slot, ExchangePlan& plan) {
    auto const path = choose_path(slot);
    if (path == DataPath::exchange) {
        make_plan(slot, plan);
        return true;
    }
    if (path == DataPath::shared_memory) {
        work_in_shared_memory(slot, plan);
        return true;
    }
    std::array<std::byte const*, 16> few;
    std::vector<std::byte const*> many(
        static_cast<std::size_t>(slot.ranks) > few.size() ? static_cast<std::size_t>(slot.ranks) : 0);
    auto const inputs =
        many.empty() ? std::span(few).first(static_cast<std::size_t>(slot.ranks)) : std::span(many);
    for (int rank = 0; rank < slot.ranks; ++rank) {
        inputs[static_cast<std::size_t>(rank)] = path == DataPath::cells ? slot.cell(rank).payload.data()
                                                 : rank == slot.rank
                                                     ? contribution(slot).data()
                                                     : slot.control.small(slot.sequence, rank);
    }
    if (path == DataPath::small_buffers && tensors_.kind == Kind::allreduce) {
        slot.reduce_small_buffers(tensors_, inputs);
    } else {
        compute_result(slot, inputs, Store::cached);
    }
    return false;
}

void TensorOperation::compute_result(RankSlot const& slot, std::span<std::byte const* const> inputs,
                                     Store store) const {
    auto const out = bytes_of(tensors_.out);
    auto const rank = static_cast<std::size_t>(slot.rank);
    auto const root = static_cast<std::size_t>(tensors_.root.value);
    switch (tensors_.kind) {
        case Kind::broadcast:
            if (rank != root) collectives::copy(out.data(), inputs[root], out.size(), store);
            return;
        case Kind::allgather_elements:
        case Kind::all_to_all:
            for (int from = 0; from < slot.ranks; ++from) {
                auto const part = part_of(out, from, slot.ranks);
                auto const skipped = tensors_.kind == Kind::all_to_all ? rank * part.size() : 0;
                collectives::copy(part.data(), inputs[static_cast<std::size_t>(from)] + skipped, part.size(),
                                  store);
            }
            return;
        case Kind::reduce:
            if (rank != root) return;
            break;
        default:
            break;
    }
    // In a reduce_scatter each rank computes its own part.
    auto const skipped = tensors_.kind == Kind::reduce_scatter ? rank * out.size() : 0;
    std::vector<std::byte const*> parts;
    if (skipped != 0) {
        for (auto const* input : inputs) parts.push_back(input + skipped);
        inputs = parts;
    }
    Destination const destination{out.data(), store};
    collectives::reduce(tensors_.in.type, tensors_.op, inputs, std::span(&destination, 1),
                        tensors_.out.count);
}

void TensorOperation::work_in_shared_memory(RankSlot const& slot, ExchangePlan& plan) const {
    plan.clear(slot.ranks);
    for (int rank = 0; rank < slot.ranks; ++rank) {
        if (is_source(rank))
            plan.sources[static_cast<std::size_t>(rank)] = slot.arena->at(location_of(slot, rank).in);
    }
    auto const all_bytes = size_bytes_ * static_cast<std::size_t>(slot.ranks);
    auto const store = all_bytes < streaming_from_bytes ? Store::cached : Store::streaming;
    if (tensors_.kind == Kind::allreduce || tensors_.kind == Kind::reduce) {
        reduce_slice(slot, plan, store);
    } else {
        compute_result(slot, plan.sources, store);
    }
    if (store == Store::streaming) collectives::finish_streaming();
    plan.longest_bytes = 1;
    plan.ends_together = true;
}

void TensorOperation::reduce_slice(RankSlot const& slot, ExchangePlan& plan, Store store) const {
    auto const slice = slice_of(bytes_of(tensors_.in), slot.rank, slot.ranks);
    auto const skipped = static_cast<std::size_t>(slice.data() - bytes_of(tensors_.in).data());
    std::vector<Destination> destinations;
    for (int rank = 0; rank < slot.ranks; ++rank) {
        plan.sources[static_cast<std::size_t>(rank)] += skipped;
        if (tensors_.kind == Kind::reduce && rank != tensors_.root.value) continue;
        // An in-place result is in the cache already, so stores that bypass the cache would be slower.
        auto const location = location_of(slot, rank);
        bool const is_in_place = location.in == location.out;
        destinations.push_back({slot.arena->at(location.out) + skipped, is_in_place ? Store::cached : store});
    }
    collectives::reduce(tensors_.in.type, tensors_.op, plan.sources, destinations,
                        slice.size() / size_of(tensors_.in.type));
}

void TensorOperation::make_plan(RankSlot const& slot, ExchangePlan& plan) const {
    plan.clear(slot.ranks);
    auto const in = bytes_of(tensors_.in);
    auto const out = bytes_of(tensors_.out);
    bool const in_place = tensors_.in.data == tensors_.out.data;
    if (!in_place && out.size() >= streaming_from_bytes) plan.store = Store::streaming;
    auto const own = static_cast<std::size_t>(slot.rank);
    switch (tensors_.kind) {
        case Kind::broadcast:
            plan.longest_bytes = out.size();
            if (is_source(slot.rank)) {
                plan.sends[own] = out;
            } else {
                plan.receives[static_cast<std::size_t>(tensors_.root.value)] = out;
            }
            return;
        case Kind::allgather_elements:
        case Kind::all_to_all: {
            bool const is_gather = tensors_.kind == Kind::allgather_elements;
            if (!is_gather) plan.collects_from = ExchangePlan::From::their_slot_for_us;
            plan.longest_bytes = is_gather ? in.size() : in.size() / static_cast<std::size_t>(slot.ranks);
            for (int rank = 0; rank < slot.ranks; ++rank) {
                if (rank != slot.rank)
                    plan.receives[static_cast<std::size_t>(rank)] = part_of(out, rank, slot.ranks);
                if (rank != slot.rank && !is_gather) {
                    plan.sends[static_cast<std::size_t>(rank)] = part_of(in, rank, slot.ranks);
                }
            }
            if (is_gather) plan.sends[own] = in;
            auto const own_part = is_gather ? in : part_of(in, slot.rank, slot.ranks);
            collectives::copy(part_of(out, slot.rank, slot.ranks).data(), own_part.data(), own_part.size(),
                              plan.store);
            return;
        }
        default:
            plan_reduction(slot, plan);
    }
}

void TensorOperation::plan_reduction(RankSlot const& slot, ExchangePlan& plan) const {
    auto const in = bytes_of(tensors_.in);
    auto const out = bytes_of(tensors_.out);
    bool const is_scatter = tensors_.kind == Kind::reduce_scatter;
    bool const is_root = tensors_.kind != Kind::reduce || slot.rank == tensors_.root.value;
    auto const slice = [&](auto whole, int rank) {
        return is_scatter ? part_of(whole, rank, slot.ranks) : slice_of(whole, rank, slot.ranks);
    };
    for (int rank = 0; rank < slot.ranks; ++rank) {
        if (rank == slot.rank) continue;
        plan.sends[static_cast<std::size_t>(rank)] = slice(in, rank);
        if (!is_scatter && is_root) plan.receives[static_cast<std::size_t>(rank)] = slice(out, rank);
    }
    auto const result = is_scatter ? out : is_root ? slice(out, slot.rank) : MutableBytes();
    plan.part = {tensors_.in.type, tensors_.op, slice(in, slot.rank), result, !is_scatter};
    plan.longest_bytes = slice(in, 0).size();
}

}  // namespace det::collectives::node
