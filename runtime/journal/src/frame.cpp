#include <det/foundation/bytes.hpp>
#include <det/journal/frame.hpp>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <fmt/format.h>
#include <optional>

namespace det::journal {
namespace {

// As in PNG, a non-text byte, CR LF and Ctrl-Z in the magic show whether a text-mode transfer changed the
// file.
constexpr std::string_view magic(
    "\x93"
    "DETJ\r\n\x1a",
    8);
constexpr std::uint16_t major_version = 1;
constexpr std::uint16_t minor_version = 0;

/// Renders the part of a frame's header that the checksum covers.
std::string render_covered(std::uint16_t type, std::size_t payload_size) {
    std::string head;
    append_value(head, static_cast<std::uint32_t>(payload_size));
    append_value(head, type);
    append_value(head, std::uint16_t{0});
    return head;
}

std::optional<FrameView> decode_whole_frame(std::string_view bytes) {
    if (bytes.size() < frame_head_size_bytes) return std::nullopt;
    std::size_t const payload_size = read_value<std::uint32_t>(bytes, 0);
    if (payload_size > payload_limit_bytes || bytes.size() - frame_head_size_bytes < payload_size)
        return std::nullopt;
    auto const payload = bytes.substr(frame_head_size_bytes, payload_size);
    if (read_value<std::uint32_t>(bytes, 8) != crc32c(payload, crc32c(bytes.substr(0, 8))))
        return std::nullopt;
    return FrameView{FrameState::whole, read_value<std::uint16_t>(bytes, 4), payload,
                     frame_head_size_bytes + payload_size};
}

/// Resynchronises: finds the first whole frame that begins at `from` or later. Any offset can be the start of
/// a frame; few offsets look like one (two zero bytes, a known size), and only there a checksum is computed.
/// The sum of the computed checksums' lengths is limited, so that no contents make the search quadratic.
/// \return npos if there is none
std::size_t find_whole_frame(std::string_view bytes, std::size_t from) {
    constexpr std::size_t checked_limit_bytes = std::size_t{64} << 20;
    std::size_t checked_bytes = 0;
    for (auto at = from; at + frame_head_size_bytes <= bytes.size(); ++at) {
        bool const looks_like_head =
            read_value<std::uint16_t>(bytes, at + 6) == 0 && read_value<std::uint16_t>(bytes, at + 4) != 0;
        if (!looks_like_head) continue;
        auto const rest = bytes.substr(at);
        std::size_t const payload_size = read_value<std::uint32_t>(rest, 0);
        if (payload_size > payload_limit_bytes || rest.size() - frame_head_size_bytes < payload_size)
            continue;
        checked_bytes += payload_size;
        if (checked_bytes > checked_limit_bytes) return bytes.npos;
        if (decode_whole_frame(rest)) return at;
    }
    return bytes.npos;
}

/// Whether the bytes would be one whole frame if the size in its head were right.
bool has_only_wrong_size(std::string_view bytes) {
    auto const payload = bytes.substr(frame_head_size_bytes);
    if (payload.size() > payload_limit_bytes) return false;
    std::string covered(bytes.substr(0, 8));
    auto const size = static_cast<std::uint32_t>(payload.size());
    std::memcpy(covered.data(), &size, sizeof size);
    return read_value<std::uint32_t>(bytes, 8) == crc32c(payload, crc32c(covered));
}

/// Distinguishes a frame that was never completely written from one that was changed afterwards. The bytes
/// extend to the end of the file and contain no whole frame. An append that is cut off leaves a file that is
/// too short, or, on file systems that set the size before they write the data, zeros at its end. Anything
/// else is damage.
bool is_torn(std::string_view bytes) {
    constexpr std::size_t unwritten_min_bytes = 64;  // fewer zeros may be the last values of a metrics frame
    if (bytes.size() < frame_head_size_bytes) return true;
    auto const last_written = bytes.find_last_not_of('\0');
    auto const zeros_at_end = last_written == bytes.npos ? bytes.size() : bytes.size() - last_written - 1;
    if (zeros_at_end == bytes.size() || zeros_at_end >= unwritten_min_bytes) return true;
    if (has_only_wrong_size(bytes)) return false;
    std::size_t const payload_size = read_value<std::uint32_t>(bytes, 0);
    return payload_size <= payload_limit_bytes && bytes.size() < frame_head_size_bytes + payload_size;
}

}  // namespace

Error too_large(std::string_view what, std::size_t size_bytes) {
    return Error{codes::report_too_large,
                 fmt::format("{} takes {} bytes in the journal, and at most {} ({} MiB) are possible", what,
                             size_bytes, payload_limit_bytes, payload_limit_bytes >> 20),
                 "report a summary, and write large data to a file"};
}

std::string render_header() {
    std::string header(magic);
    append_value(header, major_version);
    append_value(header, minor_version);
    append_value(header, crc32c(header));
    return header;
}

Status check_header(std::string_view bytes) {
    if (bytes.size() < header_size_bytes || bytes.substr(0, magic.size()) != magic) {
        return Error{codes::damaged, "it is not a journal of det-submit"};
    }
    if (read_value<std::uint32_t>(bytes, 12) != crc32c(bytes.substr(0, 12))) {
        return Error{codes::damaged, "its header is damaged"};
    }
    if (auto const major = read_value<std::uint16_t>(bytes, 8); major > major_version) {
        return Error{
            codes::newer_format,
            fmt::format("it is a journal of version {}, this program reads up to {}", major, major_version),
            "use the det-submit that wrote it"};
    }
    return Ok{};
}

std::string render_frame(std::uint16_t type, std::string_view payload) {
    assert(payload.size() <= payload_limit_bytes);
    auto frame = render_covered(type, payload.size());
    append_value(frame, crc32c(payload, crc32c(frame)));
    frame += payload;
    return frame;
}

FrameView read_frame(std::string_view bytes) {
    if (bytes.empty()) return {FrameState::end};
    if (auto const frame = decode_whole_frame(bytes)) return *frame;
    auto const next = find_whole_frame(bytes, 1);
    if (next == bytes.npos && is_torn(bytes)) return {FrameState::torn};
    return {FrameState::damaged, 0, {}, std::min(next, bytes.size())};
}

}  // namespace det::journal
