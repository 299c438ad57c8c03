#pragma once
#include <det/collectives/tensor.hpp>
#include <det/protocol/ids.hpp>

#include <string>

namespace det::collectives {

enum class Kind : std::uint8_t {
    barrier,
    gather,
    allgather,
    broadcast_object,
    broadcast,
    allreduce,
    reduce,
    reduce_scatter,
    allgather_elements,
    all_to_all,
    // The same in memory of devices.
    device_broadcast,
    device_allreduce,
    device_reduce,
    device_reduce_scatter,
    device_allgather,
    device_all_to_all,
};

/// What a rank calls: it has to be the same everywhere. What a kind has no use for stays as it is here.
struct Call {
    std::uint64_t sequence = 0;  // counts the operations of a context
    std::uint64_t count = 0;     // elements that each rank passes
    std::uint64_t small_limit_bytes = 0;
    std::uint64_t segment_bytes = 0;
    std::int32_t root = 0;
    Kind kind = Kind::barrier;
    DataType type = DataType::uint8;
    ReduceOp op = ReduceOp::sum;
    std::uint8_t algorithm = 0;  // of Tuning: 0 by the table, else 1 + Algorithm
    friend bool operator==(Call const&, Call const&) = default;
};

/// "allreduce(sum of 1000 float64)": for messages.
std::string describe(Call const& call);
/// What rank `below` called and what rank `above` called instead.
std::string describe_difference(Call const& below_call, Rank below, Call const& above_call, Rank above);

}  // namespace det::collectives
