#include "device_steps.hpp"

#include <algorithm>
#include <cassert>

namespace det::collectives::device {
namespace {

using collectives::Kind;
using collectives::TensorCall;

struct OnDevices {
    Kind kind;
    Kind on_devices;
    DeviceAction action;
};
constexpr OnDevices kinds[] = {
    {Kind::broadcast, Kind::device_broadcast, DeviceAction::broadcast},
    {Kind::allreduce, Kind::device_allreduce, DeviceAction::allreduce},
    {Kind::reduce, Kind::device_reduce, DeviceAction::reduce},
    {Kind::reduce_scatter, Kind::device_reduce_scatter, DeviceAction::reduce_scatter},
    {Kind::allgather_elements, Kind::device_allgather, DeviceAction::allgather},
    {Kind::all_to_all, Kind::device_all_to_all, DeviceAction::send},
};

OnDevices const& find(Kind kind) {
    auto const* const found = std::ranges::find(kinds, kind, &OnDevices::kind);
    assert(found != std::end(kinds));
    return *found;
}

std::vector<DeviceStep> exchange(TensorCall const& call, int ranks, void* scratch) {
    auto const count = call.in.count / static_cast<std::size_t>(ranks);
    auto const part_bytes = count * size_of(call.in.type);
    auto const* in = static_cast<std::byte const*>(call.in.data);
    auto* out = static_cast<std::byte*>(call.out.data);
    std::vector<DeviceStep> steps;
    if (scratch != nullptr) {
        steps.push_back({.action = DeviceAction::copy,
                         .in = in,
                         .out = scratch,
                         .count = call.in.count,
                         .type = call.in.type});
        in = static_cast<std::byte const*>(scratch);
    }
    for (int rank = 0; rank < ranks; ++rank, in += part_bytes, out += part_bytes) {
        steps.push_back(
            {.action = DeviceAction::send, .in = in, .count = count, .type = call.in.type, .peer = {rank}});
        steps.push_back({.action = DeviceAction::receive,
                         .out = out,
                         .count = count,
                         .type = call.in.type,
                         .peer = {rank}});
    }
    return steps;
}

}  // namespace

std::size_t scratch_bytes(TensorCall const& call) {
    bool const overwrites = call.kind == Kind::all_to_all && call.in.data == call.out.data;
    return overwrites ? bytes_of(call.in).size() : 0;
}

std::vector<DeviceStep> device_steps_of(TensorCall const& call, Rank self, int ranks, void* scratch) {
    if (call.kind == Kind::all_to_all) return exchange(call, ranks, scratch);
    bool const is_broadcast = call.kind == Kind::broadcast;
    bool const has_result = call.kind != Kind::reduce || self == call.root;
    return {{.action = find(call.kind).action,
             .in = is_broadcast ? call.out.data : call.in.data,
             .out = has_result ? call.out.data : nullptr,
             .count = is_broadcast || call.kind == Kind::reduce_scatter ? call.out.count : call.in.count,
             .type = is_broadcast ? call.out.type : call.in.type,
             .op = call.op,
             .peer = call.root}};
}

collectives::Call device_call_of(TensorCall const& call) {
    auto on_devices = call_of(call);
    on_devices.kind = find(call.kind).on_devices;
    return on_devices;
}

}  // namespace det::collectives::device
