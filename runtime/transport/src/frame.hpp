#pragma once
#include <det/foundation/bytes.hpp>

#include <optional>

namespace det::transport {

/// On the wire the size of a frame precedes it, in 4 bytes.
inline constexpr std::size_t frame_head_bytes = 4;

inline std::string wrap_frame(std::string_view frame) {
    std::string wrapped;
    append_value(wrapped, static_cast<std::uint32_t>(frame.size()));
    return wrapped += frame;
}

/// Reads the size of a frame from its first frame_head_bytes on the wire.
inline std::size_t frame_size(std::string_view head) { return read_value<std::uint32_t>(head, 0); }

/// Reads values from the front of a frame. value() and text() return nullopt if the frame is too short.
class FrameReader {
public:
    explicit FrameReader(std::string_view frame) : rest_(frame) {}

    template <std::integral T>
    std::optional<T> value() {
        if (rest_.size() < sizeof(T)) return std::nullopt;
        auto const read = read_value<T>(rest_, 0);
        rest_.remove_prefix(sizeof(T));
        return read;
    }
    std::optional<std::string_view> text() {
        auto const size = value<std::uint32_t>();
        if (!size || rest_.size() < *size) return std::nullopt;
        auto const read = rest_.substr(0, *size);
        rest_.remove_prefix(*size);
        return read;
    }
    std::string_view rest() const { return rest_; }

private:
    std::string_view rest_;
};

inline void append_text(std::string& out, std::string_view text) {
    append_value(out, static_cast<std::uint32_t>(text.size()));
    out += text;
}

}  // namespace det::transport
