#include <det/collectives/rank_group.hpp>

#include <fmt/format.h>
#include <limits>

namespace det::collectives {
namespace {

constexpr std::array all_ops{ReduceOp::sum, ReduceOp::mean, ReduceOp::min, ReduceOp::max, ReduceOp::prod};

/// Lists the names for a message: "sum, mean, min".
template <class Enumerators>
std::string names(Enumerators const& enumerators) {
    std::string list;
    for (auto const enumerator : enumerators)
        list.append(list.empty() ? "" : ", ").append(name_of(enumerator));
    return list;
}

Status check_type(DataType type) {
    if (is_reducible(type)) return Ok{};
    return Error{codes::misuse, "collectives do not accept elements of this type",
                 "they accept " + names(reducible_types)};
}

Status check_memory(ConstTensor tensor) {
    DET_TRY(check_type(tensor.type));
    constexpr std::size_t memory_limit_bytes = std::numeric_limits<std::ptrdiff_t>::max();
    if (tensor.count > memory_limit_bytes / size_of(tensor.type)) {
        return Error{codes::misuse, fmt::format("{} elements of {} do not fit into memory", tensor.count,
                                                name_of(tensor.type))};
    }
    if (tensor.data == nullptr && tensor.count != 0) {
        return Error{codes::misuse, fmt::format("{} elements at a null pointer", tensor.count)};
    }
    return Ok{};
}

Status check_op(DataType type, ReduceOp op) {
    if (!is_known(op)) {
        return Error{codes::misuse, "there is no such reduction", "the reductions are " + names(all_ops)};
    }
    if (op != ReduceOp::mean || is_floating(type)) return Ok{};
    return Error{codes::misuse, fmt::format("there is no mean of {}", name_of(type)),
                 "reduce by sum and divide"};
}

Status check_divisible(ConstTensor all, int ranks) {
    if (all.count % static_cast<std::size_t>(ranks) == 0) return Ok{};
    return Error{codes::misuse,
                 fmt::format("{} elements cannot be divided among {} ranks", all.count, ranks)};
}

/// The rules for the arguments of a kind of operation.
struct Shape {
    bool reduces = false;
    bool has_root = false;
    std::size_t (*expected_out)(std::size_t in_count, std::size_t ranks) = nullptr;
    bool divides_in = false;
};

std::size_t the_same(std::size_t count, std::size_t) { return count; }
std::size_t one_part(std::size_t count, std::size_t ranks) { return count / ranks; }
std::size_t all_parts(std::size_t count, std::size_t ranks) { return count * ranks; }

Shape shape_of(Kind kind) {
    switch (kind) {
        case Kind::reduce:
            return {.reduces = true, .has_root = true, .expected_out = the_same};
        case Kind::reduce_scatter:
            return {.reduces = true, .expected_out = one_part, .divides_in = true};
        case Kind::allgather_elements:
            return {.expected_out = all_parts};
        case Kind::all_to_all:
            return {.expected_out = the_same, .divides_in = true};
        default:
            return {.reduces = true, .expected_out = the_same};
    }
}

Status check_out(TensorCall const& call, Shape const& shape, int ranks) {
    DET_TRY(check_memory(call.out));
    auto const expected = shape.expected_out(call.in.count, static_cast<std::size_t>(ranks));
    if (call.out.type == call.in.type && call.out.count == expected) return Ok{};
    return Error{codes::misuse, fmt::format("the result is {} {}, and the output has {} {}", expected,
                                            name_of(call.in.type), call.out.count, name_of(call.out.type))};
}

}  // namespace

Status check_root(Rank root, std::string_view action, int ranks) {
    if (root.value >= 0 && root.value < ranks) return Ok{};
    return Error{codes::misuse,
                 fmt::format("rank {} cannot {}: there are {} ranks", root.value, action, ranks)};
}

Status check(TensorCall const& call, Rank self, int ranks) {
    if (call.kind == Kind::broadcast) {
        DET_TRY(check_memory(call.out));
        return check_root(call.root, "broadcast", ranks);
    }
    auto const shape = shape_of(call.kind);
    DET_TRY(check_memory(call.in));
    if (shape.reduces) DET_TRY(check_op(call.in.type, call.op));
    if (shape.has_root) DET_TRY(check_root(call.root, "get a result", ranks));
    if (shape.divides_in) DET_TRY(check_divisible(call.in, ranks));
    // In a reduce only the root has an output.
    bool const has_out = !shape.has_root || call.root == self;
    return has_out ? check_out(call, shape, ranks) : Ok{};
}

}  // namespace det::collectives
