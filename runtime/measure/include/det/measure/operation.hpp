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
    /// Input or output is the part of one rank, and the other one is that of all ranks (as in allgather).
    bool has_parts;
    /// Bytes that each rank must transfer per byte of the operation. Makes the bandwidths of different
    /// operations comparable (bus bandwidth, as in nccl-tests).
    double (*bus_factor)(int ranks);
};

std::vector<Operation> const& all_operations();
/// Finds an operation by name, for example "allreduce".
std::optional<Operation> find_operation(std::string_view name);

/// The size of an operation, rounded to a multiple of the number of ranks, with at least one element per
/// rank.
///
struct Extent {
    std::size_t part_count = 0;  // elements of one rank
    std::size_t count = 0;       // of all ranks
    std::size_t size_bytes = 0;  // of the whole
};
Extent extent_of(Operation const& operation, collectives::DataType type, std::size_t size_bytes, int ranks);

/// The call on buffers of the whole size. If only a part is used, it is the first part of the buffer.
collectives::TensorCall call_of(Operation const& operation, collectives::DataType type, Extent const& extent,
                                void* in, void* out);

}  // namespace det::measure
