#pragma once
#include <det/collectives/rank_group.hpp>

#include <optional>
#include <string_view>
#include <vector>

namespace det::measure {

/// A collective that can be measured.
struct Operation {
    std::string_view name;
    collectives::Kind kind;
    /// Elements of one rank's part alone on one side, those of all on the other.
    bool has_parts;
    /// Bytes that have to pass each rank's link per byte of the operation: what makes different operations
    /// comparable.
    double (*bus_factor)(int ranks);
};

std::vector<Operation> const& all_operations();
/// "allreduce"; nothing: there is none of that name.
std::optional<Operation> find_operation(std::string_view name);

/// What an operation of about `size_bytes` moves: a multiple of what can be divided among the ranks, at least
/// one element each.
struct Extent {
    std::size_t part_count = 0;  // elements of one rank
    std::size_t count = 0;       // of the whole
    std::size_t size_bytes = 0;  // of the whole
};
Extent extent_of(Operation const& operation, collectives::DataType type, std::size_t size_bytes, int ranks);

/// The call, on memory of the whole size: where only a part is looked at, on the first part of it.
collectives::TensorCall call_of(Operation const& operation, collectives::DataType type, Extent const& extent,
                                void* in, void* out);

}  // namespace det::measure
