#include <det/foundation/bytes.hpp>
#include <det/journal/frame.hpp>

#include <cassert>
#include <fmt/format.h>

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

}  // namespace

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
    if (bytes.size() < frame_head_size_bytes) return {FrameState::torn};
    auto const payload_size = read_value<std::uint32_t>(bytes, 0);
    if (payload_size > payload_limit_bytes) return {FrameState::damaged};
    auto const size = frame_head_size_bytes + payload_size;
    if (bytes.size() < size) return {FrameState::torn};
    auto const payload = bytes.substr(frame_head_size_bytes, payload_size);
    if (read_value<std::uint32_t>(bytes, 8) != crc32c(payload, crc32c(bytes.substr(0, 8)))) {
        return {bytes.size() == size ? FrameState::torn : FrameState::damaged};
    }
    return {FrameState::whole, read_value<std::uint16_t>(bytes, 4), payload, size};
}

}  // namespace det::journal
