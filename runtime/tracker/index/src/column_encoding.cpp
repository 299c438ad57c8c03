#include "column_encoding.hpp"

#include <det/foundation/varint.hpp>

#include <cstring>
#include <fmt/format.h>

namespace det::tracker::index {
namespace {

Error damaged(std::size_t count) {
    return {codes::damaged, fmt::format("a column of the index does not hold {} values", count)};
}

}  // namespace

std::string encode_integers(std::span<std::uint64_t const> values) {
    std::string bytes;
    bytes.reserve(values.size() * 2);
    std::uint64_t last = 0;
    for (auto const value : values) {
        append_varint(bytes, zigzag(value - last));
        last = value;
    }
    return bytes;
}

Status decode_integers(std::string_view bytes, std::size_t count, std::vector<std::uint64_t>& out) {
    if (count > bytes.size()) return damaged(count);  // before memory is taken for them
    auto const before = out.size();
    out.resize(before + count);
    ByteCursor cursor(bytes);
    std::uint64_t value = 0;
    for (auto& decoded : std::span(out).subspan(before)) {
        auto const difference = cursor.take_varint();
        if (!difference) return damaged(count);
        value += unzigzag(*difference);
        decoded = value;
    }
    if (!cursor.at_end()) return damaged(count);
    return Ok{};
}

std::string encode_reals(std::span<double const> values) {
    std::string bytes(values.size_bytes(), '\0');
    if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
}

Status decode_reals(std::string_view bytes, std::size_t count, std::vector<double>& out) {
    if (count > bytes.size() || bytes.size() != count * sizeof(double)) return damaged(count);
    auto const before = out.size();
    out.resize(before + count);
    if (count > 0) std::memcpy(out.data() + before, bytes.data(), bytes.size());
    return Ok{};
}

}  // namespace det::tracker::index
