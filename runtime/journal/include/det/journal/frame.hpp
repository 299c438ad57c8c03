#pragma once
#include <det/foundation/result.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace det::journal {

// Encoding and decoding of the journal format: a header and a sequence of frames (FORMAT.md). Pure functions.

inline constexpr std::size_t header_size_bytes = 16;
inline constexpr std::size_t frame_head_size_bytes = 12;
inline constexpr std::size_t payload_limit_bytes = std::size_t{16} << 20;

std::string render_header();
std::string render_frame(std::uint16_t type, std::string_view payload);

/// Fails if `bytes` does not begin with the header of a journal that this program can read:
/// codes::newer_format if a newer program wrote it, else codes::damaged.
Status check_header(std::string_view bytes);

enum class FrameState {
    whole,
    end,      // end of the bytes
    torn,     // the last frame is incomplete or has a wrong checksum: it is being written, or its writer died
    damaged,  // the frame's checksum is wrong and more bytes follow, or its size is above the limit
};

struct FrameView {
    FrameState state;
    std::uint16_t type = 0;
    std::string_view payload = {};
    std::size_t size_bytes = 0;  // of the whole frame
};

/// Decodes the frame at the start of `bytes`, which must extend to the end of the file.
FrameView read_frame(std::string_view bytes);

}  // namespace det::journal
