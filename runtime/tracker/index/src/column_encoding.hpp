#pragma once
#include <det/foundation/result.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace det::tracker::index {

// The columns of a block of reports as bytes (SCHEMA.md). Pure. The decoders append `count` values to `out`;
// they fail with codes::damaged if `bytes` has fewer or more values.

/// Each value as the varint of its zigzag difference to the value before it; the first one to 0.
std::string encode_integers(std::span<std::uint64_t const> values);
Status decode_integers(std::string_view bytes, std::size_t count, std::vector<std::uint64_t>& out);

/// 8 bytes a value, so that each bit pattern of a NaN survives.
std::string encode_reals(std::span<double const> values);
Status decode_reals(std::string_view bytes, std::size_t count, std::vector<double>& out);

}  // namespace det::tracker::index
