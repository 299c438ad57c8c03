#pragma once
#include <det/collectives/tensor.hpp>
#include <det/foundation/result.hpp>
#include <det/protocol/ids.hpp>

#include <string>

namespace det::liveness {
enum class WaitOperation : std::uint8_t;
}

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
    // The operations on tensors, on device memory.
    device_broadcast,
    device_allreduce,
    device_reduce,
    device_reduce_scatter,
    device_allgather,
    device_all_to_all,
};

/// The WaitOperation under which waits in an operation of this Kind are recorded. An operation on devices
/// counts as the same operation on the host.
liveness::WaitOperation wait_operation_of(Kind kind);

/// The call record of an operation, which must be equal on all ranks. Members that a kind does not use keep
/// their defaults.
struct Call {
    std::uint64_t sequence = 0;  // number of the operation in its context
    std::uint64_t count = 0;     // number of elements that each rank passes
    std::uint64_t small_limit_bytes = 0;
    std::uint64_t segment_bytes = 0;
    std::int32_t root = 0;
    Kind kind = Kind::barrier;
    DataType type = DataType::uint8;
    ReduceOp op = ReduceOp::sum;
    std::uint8_t algorithm = 0;  // 0: chosen by the table, else 1 + Tuning::algorithm
    friend bool operator==(Call const&, Call const&) = default;
};

/// Formats the call for messages, for example "allreduce(sum of 1000 float64)".
std::string describe(Call const& call);
/// Formats the call with the number of the operation: "allreduce(sum of 1000 float64), its operation 3".
std::string describe_numbered_call(Call const& call);
/// Describes the two different calls of the ranks `below` and `above`.
std::string describe_difference(Call const& below_call, Rank below, Call const& above_call, Rank above);

/// Why a rank refuses an operation, as ranks send it to each other: its own arguments are wrong, or an
/// earlier step of the operation has failed.
enum class Refusal : std::uint32_t { none, misuse, lost_rank, timeout };
/// lost_rank for codes::transport, timeout for codes::timed_out, misuse for any other code.
Refusal refusal_of(Error const& error);
/// The Error that all ranks return for a refusal. For Refusal::lost_rank also calls
/// liveness::report_lost_peer().
Error make_and_report_error(Refusal refusal, std::string message);

}  // namespace det::collectives
