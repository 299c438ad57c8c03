#include "operation.hpp"

#include <algorithm>

namespace det::measure {
namespace {

using collectives::Kind;

double twice_the_others(int ranks) { return 2.0 * (ranks - 1) / ranks; }
double the_others(int ranks) { return static_cast<double>(ranks - 1) / ranks; }
double all_of_it(int) { return 1; }

}  // namespace

std::vector<Operation> const& all_operations() {
    static std::vector<Operation> const operations{
        {"allreduce", Kind::allreduce, false, twice_the_others},
        {"reduce", Kind::reduce, false, all_of_it},
        {"broadcast", Kind::broadcast, false, all_of_it},
        {"reduce_scatter", Kind::reduce_scatter, true, the_others},
        {"allgather", Kind::allgather_elements, true, the_others},
        {"all_to_all", Kind::all_to_all, true, the_others},
    };
    return operations;
}

std::optional<Operation> find_operation(std::string_view name) {
    auto const& all = all_operations();
    auto const found = std::ranges::find(all, name, &Operation::name);
    return found == all.end() ? std::nullopt : std::optional(*found);
}

OperationSize operation_size(Operation const& operation, collectives::DataType type, std::size_t size_bytes,
                             int ranks) {
    auto const parts = operation.has_parts ? static_cast<std::size_t>(ranks) : 1;
    auto const part_count = std::max<std::size_t>(size_bytes / collectives::size_of(type) / parts, 1);
    auto const count = part_count * parts;
    return {part_count, count, count * collectives::size_of(type)};
}

collectives::TensorCall call_of(Operation const& operation, collectives::DataType type,
                                OperationSize const& extent, void* in, void* out) {
    collectives::TensorCall call;
    call.kind = operation.kind;
    call.in = {in, operation.kind == Kind::allgather_elements ? extent.part_count : extent.count, type};
    call.out = {out, operation.kind == Kind::reduce_scatter ? extent.part_count : extent.count, type};
    return call;
}

}  // namespace det::measure
