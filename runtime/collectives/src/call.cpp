#include <det/collectives/call.hpp>
#include <det/collectives/tuning.hpp>
#include <det/liveness/lost_peer.hpp>
#include <det/liveness/wait_page.hpp>

#include <fmt/format.h>

namespace det::collectives {
namespace {

/// The text of each Kind up to all_to_all for messages. An operation on devices uses the row of the same
/// operation on the host.
constexpr std::string_view formats[] = {
    "barrier()",
    "gather()",
    "allgather()",
    "broadcast(an object from rank {root})",
    "broadcast({count} {type} from rank {root})",
    "allreduce({op} of {count} {type})",
    "reduce({op} of {count} {type} to rank {root})",
    "reduce_scatter({op} of {count} {type})",
    "allgather({count} {type})",
    "all_to_all({count} {type})",
};
constexpr auto last_kind = static_cast<std::size_t>(Kind::device_all_to_all);
constexpr auto last_host_kind = static_cast<std::size_t>(Kind::all_to_all);
static_assert(std::size(formats) == last_host_kind + 1);

// The operations on the host come first in both enumerations, in the same order.
using liveness::WaitOperation;
static_assert(static_cast<std::size_t>(WaitOperation::all_to_all) == last_host_kind);
static_assert(static_cast<int>(WaitOperation::barrier) == static_cast<int>(Kind::barrier));
static_assert(static_cast<int>(WaitOperation::allreduce) == static_cast<int>(Kind::allreduce));

/// The operation on the host that is the same as this one.
constexpr std::size_t host_kind_of(std::size_t kind) {
    return kind > last_host_kind ? kind - (last_kind - last_host_kind) : kind;
}

bool are_tuned_alike(Call const& a, Call const& b) {
    return a.small_limit_bytes == b.small_limit_bytes && a.segment_bytes == b.segment_bytes &&
           a.algorithm == b.algorithm;
}

std::string describe_tuning(Call const& call) {
    auto const algorithm = call.algorithm == 0 ? "by the table"
                           : call.algorithm > algorithms
                               ? "unknown"
                               : name_of(static_cast<Algorithm>(call.algorithm - 1));
    return fmt::format("{{{}, {}, {}}}", call.small_limit_bytes, call.segment_bytes, algorithm);
}

}  // namespace

std::string describe(Call const& call) {
    auto const kind = static_cast<std::size_t>(call.kind);
    if (kind > last_kind) return fmt::format("an unknown operation ({})", kind);
    bool const is_on_devices = kind > last_host_kind;
    auto const format = formats[host_kind_of(kind)];
    auto const text =
        fmt::format(fmt::runtime(format), fmt::arg("root", call.root), fmt::arg("op", name_of(call.op)),
                    fmt::arg("count", call.count), fmt::arg("type", name_of(call.type)));
    return is_on_devices ? text + " on devices" : text;
}

liveness::WaitOperation wait_operation_of(Kind kind) {
    return static_cast<WaitOperation>(host_kind_of(static_cast<std::size_t>(kind)));
}

std::string describe_numbered_call(Call const& call) {
    return fmt::format("{}, its operation {}", describe(call), call.sequence + 1);
}

std::string describe_difference(Call const& below_call, Rank below, Call const& above_call, Rank above) {
    if (!are_tuned_alike(below_call, above_call)) {
        return fmt::format("rank {} has Tuning {} and rank {} {}", below.value, describe_tuning(below_call),
                           above.value, describe_tuning(above_call));
    }
    return fmt::format("rank {} called {} and rank {} called {}, each as its operation {}", below.value,
                       describe(below_call), above.value, describe(above_call), below_call.sequence + 1);
}

Refusal refusal_of(Error const& error) {
    if (error.code == codes::transport) return Refusal::lost_rank;
    return error.code == codes::timed_out ? Refusal::timeout : Refusal::misuse;
}

Error make_and_report_error(Refusal refusal, std::string message) {
    if (refusal == Refusal::misuse)
        return {codes::misuse, std::move(message), "make the same calls in the same order on every rank"};
    if (refusal == Refusal::lost_rank) liveness::report_lost_peer(message);
    return {refusal == Refusal::timeout ? codes::timed_out : codes::transport, std::move(message),
            "end this rank, or make a new context of the ranks that are left"};
}

}  // namespace det::collectives
