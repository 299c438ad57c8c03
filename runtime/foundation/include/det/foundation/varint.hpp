#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace det {

/// Appends an unsigned integer as 1 to 10 bytes: 7 bits a byte, lowest first; the highest bit of a byte means
/// that another one follows.
inline void append_varint(std::string& out, std::uint64_t value) {
    while (value >= 0x80) {
        out += static_cast<char>(value | 0x80);
        value >>= 7;
    }
    out += static_cast<char>(value);
}

/// Maps a difference modulo 2^64 so that small positive and negative differences become small numbers: 0, -1,
/// 1, -2 become 0, 1, 2, 3.
constexpr std::uint64_t zigzag(std::uint64_t difference) {
    return (difference << 1) ^ (0 - (difference >> 63));
}
constexpr std::uint64_t unzigzag(std::uint64_t value) { return (value >> 1) ^ (0 - (value & 1)); }

/// Takes values from the front of bytes. Returns nullopt, and takes nothing, if too few bytes are left or a
/// varint has more than 64 bits.
class ByteCursor {
public:
    explicit ByteCursor(std::string_view bytes) : rest_(bytes) {}

    bool at_end() const { return rest_.empty(); }

    std::optional<std::string_view> take(std::size_t size) {
        if (rest_.size() < size) return std::nullopt;
        auto const taken = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return taken;
    }

    std::optional<std::uint64_t> take_varint() {
        // Most values take one to three bytes. This path needs a third of the time of take_long_varint().
        if (rest_.size() >= 3) {
            std::uint64_t const first = byte_at(0), second = byte_at(1), third = byte_at(2);
            if (first < 0x80) return taken(1, first);
            if (second < 0x80) return taken(2, (first & 0x7f) | second << 7);
            if (third < 0x80) return taken(3, (first & 0x7f) | (second & 0x7f) << 7 | third << 14);
        }
        return take_long_varint();
    }

private:
    std::uint64_t byte_at(std::size_t i) const { return static_cast<unsigned char>(rest_[i]); }
    std::uint64_t taken(std::size_t size, std::uint64_t value) {
        rest_.remove_prefix(size);
        return value;
    }
    std::optional<std::uint64_t> take_long_varint() {
        std::uint64_t value = 0;
        for (std::size_t i = 0; i < rest_.size() && i < 10; ++i) {
            auto const byte = static_cast<unsigned char>(rest_[i]);
            if (i == 9 && byte > 1) return std::nullopt;  // more than 64 bits
            value |= static_cast<std::uint64_t>(byte & 0x7f) << (7 * i);
            if ((byte & 0x80) == 0) {
                rest_.remove_prefix(i + 1);
                return value;
            }
        }
        return std::nullopt;
    }

    std::string_view rest_;
};

}  // namespace det
