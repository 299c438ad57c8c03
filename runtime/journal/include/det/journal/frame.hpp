#pragma once
#include <det/foundation/result.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace det::journal {

/// A journal is a header and frames behind each other (FORMAT.md). Pure: bytes in, bytes out.
inline constexpr std::size_t header_size_bytes = 16;
inline constexpr std::size_t frame_head_size_bytes = 12;
inline constexpr std::size_t payload_limit_bytes = std::size_t{16} << 20;

std::string render_header();
std::string render_frame(std::uint16_t type, std::string_view payload);

/// An Error where these are not the first bytes of a journal that this program can read.
Status check_header(std::string_view bytes);

enum class FrameState {
    whole,
    end,      // nothing is left
    torn,     // the last frame is not there to its end: still being written, or its writer died
    damaged,  // what is there can't be right, and more stands behind it
};

struct FrameView {
    FrameState state;
    std::uint16_t type = 0;
    std::string_view payload = {};
    std::size_t size_bytes = 0;  // of the whole frame
};

/// The frame at the start of `bytes`, which reach to the end of the file.
FrameView read_frame(std::string_view bytes);

}  // namespace det::journal
