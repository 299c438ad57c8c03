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

// Results that the ranks' caches do not hold anyway go past them.
constexpr std::size_t streaming_from_bytes = std::size_t{24} << 20;

Offer offer_of(Seat const& seat, int rank) {
    Offer offer;
    std::memcpy(&offer, seat.cell(rank).payload.data(), sizeof offer);
    return offer;
}

template <class T>
T part_of(T whole, int part, int parts) {
    auto const size = whole.size() / static_cast<std::size_t>(parts);
    return whole.subspan(static_cast<std::size_t>(part) * size, size);
}

/// As part_of, for what does not divide: whole lines as far as there are some.
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

std::size_t Offer::write(Payload& payload) const {
    static_assert(sizeof *this <= payload_bytes);
    std::memcpy(payload.data(), this, sizeof *this);
    return sizeof *this;
}

TensorOperation::TensorOperation(collectives::TensorCall const& call, Status const& refused)
    : Operation(call_of(call), refused),
      tensors_(call),
      size_bytes_(call.kind == Kind::broadcast ? bytes_of(call.out).size() : bytes_of(call.in).size()) {}

Bytes TensorOperation::contribution(Seat const& seat) const {
    if (tensors_.kind != Kind::broadcast) return bytes_of(tensors_.in);
    return seat.rank == tensors_.root.value ? Bytes(bytes_of(tensors_.out)) : Bytes();
}

bool TensorOperation::uses(Bytes memory) const {
    return overlap(memory, bytes_of(tensors_.in)) || overlap(memory, bytes_of(tensors_.out));
}

bool TensorOperation::is_source(int rank) const {
    return tensors_.kind != Kind::broadcast || rank == tensors_.root.value;
}

std::size_t TensorOperation::offer(Seat& seat, Payload& payload) {
    auto const bytes = contribution(seat);
    if (size_bytes_ <= payload_bytes) {
        std::copy(bytes.begin(), bytes.end(), payload.begin());
        return bytes.size();
    }
    if (auto const shared = offer_shared(seat, bytes)) return shared->write(payload);
    bool const is_small = fits_small_buffer(seat);
    if (is_small) collectives::copy(seat.segment.small(seat.sequence, seat.rank), bytes.data(), bytes.size());
    Offer const ours{.in = is_small ? Offer::in_small_buffer : Offer::nowhere,
                     .out = seat.arena ? Offer::somewhere : Offer::nowhere};
    return ours.write(payload);
}

bool TensorOperation::fits_small_buffer(Seat const& seat) const {
    auto const& geometry = seat.segment.geometry();
    if (size_bytes_ <= geometry.small_limit_bytes) return true;
    bool const all_need_all = tensors_.kind == Kind::allreduce || tensors_.kind == Kind::allgather_elements;
    return seat.ranks == 2 && all_need_all && size_bytes_ <= geometry.pair_limit_bytes;
}

std::optional<Offer> TensorOperation::offer_shared(Seat const& seat, Bytes bytes) const {
    if (!seat.arena || size_bytes_ < shared_from_bytes || !is_source(seat.rank)) return std::nullopt;
    // In place each rank would overwrite what others have yet to read.
    if (tensors_.kind == Kind::all_to_all && tensors_.in.data == tensors_.out.data) return std::nullopt;
    auto const in = seat.arena->offset_of(bytes);
    auto const out = seat.arena->offset_of(bytes_of(tensors_.out));
    bool const others_write = tensors_.kind == Kind::allreduce ||
                              (tensors_.kind == Kind::reduce && seat.rank == tensors_.root.value);
    if (!in || (others_write && !out)) return std::nullopt;
    return Offer{.in = *in, .out = others_write ? *out : Offer::somewhere};
}

TensorOperation::Way TensorOperation::likely_way(Seat const& seat) const {
    if (size_bytes_ <= payload_bytes) return Way::cells;
    if (offer_shared(seat, contribution(seat))) return Way::shared_memory;
    return fits_small_buffer(seat) ? Way::small_buffers : Way::exchange;
}

TensorOperation::Way TensorOperation::find_way(Seat const& seat) const {
    if (size_bytes_ <= payload_bytes) return Way::cells;
    bool all_small = true, all_shared = true;
    for (int rank = 0; rank < seat.ranks; ++rank) {
        auto const offer = offer_of(seat, rank);
        all_shared = all_shared && offer.out != Offer::nowhere;
        if (!is_source(rank)) continue;
        all_small = all_small && offer.in == Offer::in_small_buffer;
        all_shared = all_shared && offer.in < Offer::in_small_buffer;
    }
    if (all_small) return Way::small_buffers;
    return all_shared ? Way::shared_memory : Way::exchange;
}

bool TensorOperation::settle(Seat& seat, Plan& plan) {
    auto const way = find_way(seat);
    if (way == Way::exchange) {
        make_plan(seat, plan);
        return true;
    }
    if (way == Way::shared_memory) {
        share_out(seat, plan);
        return true;
    }
    std::array<std::byte const*, 16> few;
    std::vector<std::byte const*> many(
        static_cast<std::size_t>(seat.ranks) > few.size() ? static_cast<std::size_t>(seat.ranks) : 0);
    auto const inputs =
        many.empty() ? std::span(few).first(static_cast<std::size_t>(seat.ranks)) : std::span(many);
    for (int rank = 0; rank < seat.ranks; ++rank) {
        inputs[static_cast<std::size_t>(rank)] = way == Way::cells ? seat.cell(rank).payload.data()
                                                 : rank == seat.rank
                                                     ? contribution(seat).data()
                                                     : seat.segment.small(seat.sequence, rank);
    }
    if (way == Way::small_buffers && tensors_.kind == Kind::allreduce) {
        seat.reduce_small(tensors_, inputs);
    } else {
        take_from(seat, inputs, Store::cached);
    }
    return false;
}

void TensorOperation::take_from(Seat const& seat, std::span<std::byte const* const> inputs,
                                Store store) const {
    auto const out = bytes_of(tensors_.out);
    auto const rank = static_cast<std::size_t>(seat.rank);
    auto const root = static_cast<std::size_t>(tensors_.root.value);
    switch (tensors_.kind) {
        case Kind::broadcast:
            if (rank != root) collectives::copy(out.data(), inputs[root], out.size(), store);
            return;
        case Kind::allgather_elements:
        case Kind::all_to_all:
            for (int from = 0; from < seat.ranks; ++from) {
                auto const part = part_of(out, from, seat.ranks);
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
    // Of a scattered reduction each rank computes its own part.
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

void TensorOperation::share_out(Seat const& seat, Plan& plan) const {
    plan.clear(seat.ranks);
    for (int rank = 0; rank < seat.ranks; ++rank) {
        if (is_source(rank))
            plan.sources[static_cast<std::size_t>(rank)] = seat.arena->at(offer_of(seat, rank).in);
    }
    auto const all_bytes = size_bytes_ * static_cast<std::size_t>(seat.ranks);
    auto const store = all_bytes < streaming_from_bytes ? Store::cached : Store::streaming;
    if (tensors_.kind == Kind::allreduce || tensors_.kind == Kind::reduce) {
        reduce_slice(seat, plan, store);
    } else {
        take_from(seat, plan.sources, store);
    }
    if (store == Store::streaming) collectives::finish_streaming();
    plan.longest_bytes = 1;
    plan.ends_together = true;
}

void TensorOperation::reduce_slice(Seat const& seat, Plan& plan, Store store) const {
    auto const slice = slice_of(bytes_of(tensors_.in), seat.rank, seat.ranks);
    auto const skipped = static_cast<std::size_t>(slice.data() - bytes_of(tensors_.in).data());
    std::vector<Destination> destinations;
    for (int rank = 0; rank < seat.ranks; ++rank) {
        plan.sources[static_cast<std::size_t>(rank)] += skipped;
        if (tensors_.kind == Kind::reduce && rank != tensors_.root.value) continue;
        // What was reduced in place is in the cache already, and going past it would be slower.
        auto const offer = offer_of(seat, rank);
        bool const is_in_place = offer.in == offer.out;
        destinations.push_back({seat.arena->at(offer.out) + skipped, is_in_place ? Store::cached : store});
    }
    collectives::reduce(tensors_.in.type, tensors_.op, plan.sources, destinations,
                        slice.size() / size_of(tensors_.in.type));
}

void TensorOperation::make_plan(Seat const& seat, Plan& plan) const {
    plan.clear(seat.ranks);
    auto const in = bytes_of(tensors_.in);
    auto const out = bytes_of(tensors_.out);
    bool const in_place = tensors_.in.data == tensors_.out.data;
    if (!in_place && out.size() >= streaming_from_bytes) plan.store = Store::streaming;
    auto const own = static_cast<std::size_t>(seat.rank);
    switch (tensors_.kind) {
        case Kind::broadcast:
            plan.longest_bytes = out.size();
            if (is_source(seat.rank)) {
                plan.sends[own] = out;
            } else {
                plan.receives[static_cast<std::size_t>(tensors_.root.value)] = out;
            }
            return;
        case Kind::allgather_elements:
        case Kind::all_to_all: {
            bool const is_gather = tensors_.kind == Kind::allgather_elements;
            if (!is_gather) plan.collects_from = Plan::From::their_slot_for_us;
            plan.longest_bytes = is_gather ? in.size() : in.size() / static_cast<std::size_t>(seat.ranks);
            for (int rank = 0; rank < seat.ranks; ++rank) {
                if (rank != seat.rank)
                    plan.receives[static_cast<std::size_t>(rank)] = part_of(out, rank, seat.ranks);
                if (rank != seat.rank && !is_gather) {
                    plan.sends[static_cast<std::size_t>(rank)] = part_of(in, rank, seat.ranks);
                }
            }
            if (is_gather) plan.sends[own] = in;
            auto const ours = is_gather ? in : part_of(in, seat.rank, seat.ranks);
            collectives::copy(part_of(out, seat.rank, seat.ranks).data(), ours.data(), ours.size(),
                              plan.store);
            return;
        }
        default:
            plan_reduction(seat, plan);
    }
}

void TensorOperation::plan_reduction(Seat const& seat, Plan& plan) const {
    auto const in = bytes_of(tensors_.in);
    auto const out = bytes_of(tensors_.out);
    bool const is_scatter = tensors_.kind == Kind::reduce_scatter;
    bool const is_root = tensors_.kind != Kind::reduce || seat.rank == tensors_.root.value;
    auto const slice = [&](auto whole, int rank) {
        return is_scatter ? part_of(whole, rank, seat.ranks) : slice_of(whole, rank, seat.ranks);
    };
    for (int rank = 0; rank < seat.ranks; ++rank) {
        if (rank == seat.rank) continue;
        plan.sends[static_cast<std::size_t>(rank)] = slice(in, rank);
        if (!is_scatter && is_root) plan.receives[static_cast<std::size_t>(rank)] = slice(out, rank);
    }
    auto const result = is_scatter ? out : is_root ? slice(out, seat.rank) : MutableBytes();
    plan.part = {tensors_.in.type, tensors_.op, slice(in, seat.rank), result, !is_scatter};
    plan.longest_bytes = slice(in, 0).size();
}

}  // namespace det::collectives::node
