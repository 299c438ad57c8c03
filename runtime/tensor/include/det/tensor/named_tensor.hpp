#pragma once
#include <det/foundation/result.hpp>
#include <det/tensor/data_type.hpp>

#include <string>
#include <vector>

namespace det::tensor {

/// One number for each dimension: the shape of a tensor, or a position in it. A scalar has none.
using Extents = std::vector<std::uint64_t>;

/// A rectangular part of a tensor: the position of its first element and its shape.
struct Box {
    Extents begin;
    Extents shape;
    friend auto operator<=>(Box const&, Box const&) = default;
};

/// \return the number of elements of a shape; nullopt if it does not fit into 64 bits
std::optional<std::uint64_t> count_elements(Extents const& shape);
/// \param a,b parts of the same tensor
/// \return the elements that both parts contain; nullopt if there are none
std::optional<Box> intersect(Box const& a, Box const& b);

/// Which part of a named tensor a rank holds, without the data.
struct LocalTensorSlice {
    std::string name;
    DataType type = DataType::float32;
    Extents shape;  ///< of the whole tensor
    Box part;       ///< what this rank holds
    friend bool operator==(LocalTensorSlice const&, LocalTensorSlice const&) = default;

    /// Bytes of the part.
    std::uint64_t size_bytes() const { return count_elements(part.shape).value_or(0) * size_of(type); }
};

/// A part of a named tensor, and the address of its data: contiguous, in row-major order, in memory of the
/// process or of its device. Does not own the memory. Ranks that hold the same part must hold the same
/// values.
struct NamedTensor : LocalTensorSlice {
    std::byte* data = nullptr;  ///< read when saving, written when loading
    /// Whether a save may copy the data out of device memory after it has returned (Saver::wait_snapshot).
    bool copy_later = false;

    /// A tensor of which this rank holds all elements.
    static NamedTensor whole(std::string name, DataType type, Extents shape, void* data);
    /// \param shape of the whole tensor
    /// \param part what this rank holds; `data` has only these elements
    static NamedTensor slice(std::string name, DataType type, Extents shape, Box part, void* data);
};

/// Checks one tensor, without comparing it with other tensors.
/// \return codes::misuse: the name is empty, reserved ("__metadata__") or not UTF-8; the tensor has more than
///   2^58 elements; the part is not inside the tensor; data is null and the part is not empty
Status check(NamedTensor const& tensor);

}  // namespace det::tensor
