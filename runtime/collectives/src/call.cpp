#include <det/collectives/call.hpp>
#include <det/collectives/tuning.hpp>

#include <fmt/format.h>

namespace det::collectives {
namespace {

std::string describe_barrier(Call const&) { return "barrier()"; }
std::string describe_gather(Call const&) { return "gather()"; }
std::string describe_allgather(Call const&) { return "allgather()"; }
std::string describe_broadcast_object(Call const& call) {
    return fmt::format("broadcast(an object from rank {})", call.root);
}
std::string describe_broadcast(Call const& call) {
    return fmt::format("broadcast({} {} from rank {})", call.count, name_of(call.type), call.root);
}
std::string describe_allreduce(Call const& call) {
    return fmt::format("allreduce({} of {} {})", name_of(call.op), call.count, name_of(call.type));
}
std::string describe_reduce(Call const& call) {
    return fmt::format("reduce({} of {} {} to rank {})", name_of(call.op), call.count, name_of(call.type),
                       call.root);
}
std::string describe_reduce_scatter(Call const& call) {
    return fmt::format("reduce_scatter({} of {} {})", name_of(call.op), call.count, name_of(call.type));
}
std::string describe_allgather_elements(Call const& call) {
    return fmt::format("allgather({} {})", call.count, name_of(call.type));
}
std::string describe_all_to_all(Call const& call) {
    return fmt::format("all_to_all({} {})", call.count, name_of(call.type));
}

template <std::string (*describe_in_memory)(Call const&)>
std::string on_devices(Call const& call) {
    return describe_in_memory(call) + " on devices";
}

constexpr std::string (*describe_by_kind[])(Call const&) = {
    describe_barrier,
    describe_gather,
    describe_allgather,
    describe_broadcast_object,
    describe_broadcast,
    describe_allreduce,
    describe_reduce,
    describe_reduce_scatter,
    describe_allgather_elements,
    describe_all_to_all,
    on_devices<describe_broadcast>,
    on_devices<describe_allreduce>,
    on_devices<describe_reduce>,
    on_devices<describe_reduce_scatter>,
    on_devices<describe_allgather_elements>,
    on_devices<describe_all_to_all>,
};

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
    if (kind >= std::size(describe_by_kind)) return fmt::format("an unknown operation ({})", kind);
    return describe_by_kind[kind](call);
}

std::string describe_difference(Call const& below_call, Rank below, Call const& above_call, Rank above) {
    if (!are_tuned_alike(below_call, above_call)) {
        return fmt::format("rank {} has Tuning {} and rank {} {}", below.value, describe_tuning(below_call),
                           above.value, describe_tuning(above_call));
    }
    return fmt::format("rank {} called {} and rank {} called {}, each as its operation {}", below.value,
                       describe(below_call), above.value, describe(above_call), below_call.sequence + 1);
}

}  // namespace det::collectives
