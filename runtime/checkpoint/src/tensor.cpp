#include <det/checkpoint/tensor.hpp>
#include <det/foundation/text.hpp>

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>

namespace det::checkpoint {
namespace {

struct DtypeRow {
    Dtype dtype;
    std::string_view name;
    std::size_t size_bytes;
};

constexpr std::array dtypes{
    DtypeRow{Dtype::boolean, "BOOL", 1},    DtypeRow{Dtype::u8, "U8", 1},
    DtypeRow{Dtype::i8, "I8", 1},           DtypeRow{Dtype::f8_e4m3, "F8_E4M3", 1},
    DtypeRow{Dtype::f8_e5m2, "F8_E5M2", 1}, DtypeRow{Dtype::u16, "U16", 2},
    DtypeRow{Dtype::i16, "I16", 2},         DtypeRow{Dtype::f16, "F16", 2},
    DtypeRow{Dtype::bf16, "BF16", 2},       DtypeRow{Dtype::u32, "U32", 4},
    DtypeRow{Dtype::i32, "I32", 4},         DtypeRow{Dtype::f32, "F32", 4},
    DtypeRow{Dtype::u64, "U64", 8},         DtypeRow{Dtype::i64, "I64", 8},
    DtypeRow{Dtype::f64, "F64", 8},
};

DtypeRow const& row_of(Dtype dtype) { return dtypes[static_cast<std::size_t>(dtype)]; }

bool lies_inside(Box const& part, Extents const& shape) {
    if (part.begin.size() != shape.size() || part.shape.size() != shape.size()) return false;
    for (std::size_t i = 0; i < shape.size(); ++i) {
        if (part.begin[i] > shape[i] || part.shape[i] > shape[i] - part.begin[i]) return false;
    }
    return true;
}

Status check_tensor(Tensor const& tensor) {
    if (tensor.name.empty() || tensor.name == "__metadata__" || !is_valid_utf8(tensor.name))
        return Error{codes::misuse, fmt::format("a tensor can't be named '{}'", escape_control(tensor.name))};
    auto const elements = count_elements(tensor.shape);
    if (!elements || *elements > std::uint64_t{1} << 58)
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

std::string_view to_string(Dtype dtype) { return row_of(dtype).name; }
std::size_t size_bytes_of(Dtype dtype) { return row_of(dtype).size_bytes; }

std::optional<Dtype> parse_dtype(std::string_view text) {
    auto const row =
        std::find_if(dtypes.begin(), dtypes.end(), [&](auto const& r) { return r.name == text; });
    return row == dtypes.end() ? std::nullopt : std::optional(row->dtype);
}

Tensor Tensor::whole(std::string name, Dtype dtype, Extents shape, void* data) {
    Box all{Extents(shape.size(), 0), shape};
    return slice(std::move(name), dtype, std::move(shape), std::move(all), data);
}

Tensor Tensor::slice(std::string name, Dtype dtype, Extents shape, Box part, void* data) {
    return {std::move(name), dtype, std::move(shape), std::move(part), static_cast<std::byte*>(data)};
}

std::uint64_t Tensor::size_bytes() const {
    return count_elements(part.shape).value_or(0) * size_bytes_of(dtype);
}

Status check_state(State const& state) {
    std::set<std::string_view> names;
    for (auto const& tensor : state) {
        DET_TRY(check_tensor(tensor));
        if (!names.insert(tensor.name).second)
            return Error{codes::misuse, fmt::format("two tensors are named '{}'", tensor.name)};
    }
    return Ok{};
}

}  // namespace det::checkpoint
