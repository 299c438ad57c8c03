#include <det/foundation/text.hpp>
#include <det/tensor/named_tensor.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace det::tensor {
namespace {

constexpr std::uint64_t elements_max = std::uint64_t{1} << 58;

bool lies_inside(Box const& part, Extents const& shape) {
    if (part.begin.size() != shape.size() || part.shape.size() != shape.size()) return false;
    for (std::size_t i = 0; i < shape.size(); ++i) {
        if (part.begin[i] > shape[i] || part.shape[i] > shape[i] - part.begin[i]) return false;
    }
    return true;
}

}  // namespace

std::optional<std::uint64_t> count_elements(Extents const& shape) {
    std::uint64_t count = 1;
    if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
    for (auto const length : shape) {
        if (__builtin_mul_overflow(count, length, &count)) return std::nullopt;
    }
    return count;
}

std::optional<Box> intersect(Box const& a, Box const& b) {
    Box both = a;
    for (std::size_t i = 0; i < a.begin.size(); ++i) {
        auto const begin = std::max(a.begin[i], b.begin[i]);
        auto const end = std::min(a.begin[i] + a.shape[i], b.begin[i] + b.shape[i]);
        if (begin >= end) return std::nullopt;
        both.begin[i] = begin;
        both.shape[i] = end - begin;
    }
    return both;
}

NamedTensor NamedTensor::whole(std::string name, DataType type, Extents shape, void* data) {
    Box all{Extents(shape.size(), 0), shape};
    return slice(std::move(name), type, std::move(shape), std::move(all), data);
}

NamedTensor NamedTensor::slice(std::string name, DataType type, Extents shape, Box part, void* data) {
    return {{std::move(name), type, std::move(shape), std::move(part)}, static_cast<std::byte*>(data), false};
}

Status check(NamedTensor const& tensor) {
    if (tensor.name.empty() || tensor.name == "__metadata__" || !is_valid_utf8(tensor.name))
        return Error{codes::misuse, fmt::format("a tensor can't be named '{}'", escape_control(tensor.name))};
    auto const elements = count_elements(tensor.shape);
    if (!elements || *elements > elements_max)
        return Error{codes::misuse, fmt::format("tensor '{}' is too large", tensor.name)};
    if (!lies_inside(tensor.part, tensor.shape)) {
        return Error{codes::misuse,
                     fmt::format("tensor '{}' has the shape {}: there is no part of it at {} of {}",
                                 tensor.name, tensor.shape, tensor.part.begin, tensor.part.shape)};
    }
    if (tensor.data == nullptr && tensor.size_bytes() != 0)
        return Error{codes::misuse, fmt::format("tensor '{}' has no data", tensor.name)};
    return Ok{};
}

}  // namespace det::tensor
