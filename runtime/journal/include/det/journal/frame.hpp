#pragma once
#include <det/foundation/result.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace det::codes {

/// A record is larger than the largest frame of a journal. Writing it again can't succeed.
inline constexpr ErrorCode report_too_large{"report-too-large", ExitCode::could_not};

}  // namespace det::codes

namespace det::journal {

// Encoding and decoding of the journal format: a header and a sequence of frames (FORMAT.md). Pure functions.

inline constexpr std::size_t header_size_bytes = 16;
inline constexpr std::size_t frame_head_size_bytes = 12;
inline constexpr std::size_t payload_limit_bytes = std::size_t{16} << 20;

/// The error of a payload that is larger than payload_limit_bytes.
/// \param what "a report", "a record of type 4"
Error too_large(std::string_view what, std::size_t size_bytes);

std::string render_header();
std::string render_frame(std::uint16_t type, std::string_view payload);

/// Fails if `bytes` does not begin with the header of a journal that this program can read:
/// codes::newer_format if a newer program wrote it, else codes::damaged.
Status check_header(std::string_view bytes);

enum class FrameState {
    whole,
    end,      // end of the bytes
    torn,     // the last frame is incomplete: it is being written, or its writer died
    damaged,  // bytes that are no frame, up to the next whole frame or the end of the bytes
};

struct FrameView {
    FrameState state;
    std::uint16_t type = 0;
    std::string_view payload = {};
    std::size_t size_bytes = 0;  // of the whole frame, or of the damaged bytes
};

/// Decodes the frame at the start of `bytes`, which must extend to the end of the file, or be longer than the
/// largest frame. After damaged bytes, the next whole frame begins `size_bytes` later.
FrameView read_frame(std::string_view bytes);

/// Bytes of a journal that can't be read.
struct DamagedRange {
    std::uint64_t offset_bytes = 0;
    std::uint64_t size_bytes = 0;
    friend bool operator==(DamagedRange const&, DamagedRange const&) = default;
};

}  // namespace det::journal
