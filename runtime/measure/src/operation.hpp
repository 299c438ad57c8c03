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
    /// Input or output consists of one part per rank, as in allgather and all_to_all.
    bool has_parts;
    /// Bytes that each rank must transfer per byte of the operation. Makes the bandwidths of different
    /// operations comparable (bus bandwidth, as in nccl-tests).
    double (*bus_factor)(int ranks);
};

std::vector<Operation> const& all_operations();
/// Finds an operation by name, for example "allreduce".
std::optional<Operation> find_operation(std::string_view name);

/// The size of an operation, rounded down to whole elements, with at least one element. If the operation has
/// parts, all parts have the same number of elements, at least one.
struct OperationSize {
    std::size_t part_count = 0;  // elements of one part; without parts the same as count
    std::size_t count = 0;       // elements of all parts together
    std::size_t size_bytes = 0;  // bytes of all parts together
};
OperationSize operation_size(Operation const& operation, collectives::DataType type, std::size_t size_bytes,
                             int ranks);

/// The call on buffers of the whole size. If only a part is used, it is the first part of the buffer.
collectives::TensorCall call_of(Operation const& operation, collectives::DataType type,
                                OperationSize const& extent, void* in, void* out);

}  // namespace det::measure
