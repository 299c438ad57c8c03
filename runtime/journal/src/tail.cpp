#include <det/foundation/files.hpp>
#include <det/journal/frame.hpp>
#include <det/journal/tail.hpp>

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace det::journal {
namespace {

// A reading holds at least one frame of the largest size.
constexpr std::size_t read_limit_bytes = payload_limit_bytes + frame_head_size_bytes + header_size_bytes;

/// Reads up to read_limit_bytes from the offset to the end of the file; empty if the file does not exist.
Result<std::string> read_from(std::filesystem::path const& path, std::uint64_t offset_bytes) {
    UniqueFd const fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd && errno == ENOENT) return std::string();
    if (!fd) return os_error(fmt::format("open '{}'", path.string()), errno);
    auto const end = ::lseek(fd.get(), 0, SEEK_END);
    if (end < 0) return os_error(fmt::format("seek in '{}'", path.string()), errno);
    auto const size_bytes = static_cast<std::uint64_t>(end);
    if (size_bytes <= offset_bytes) return std::string();
    std::string bytes(std::min<std::uint64_t>(size_bytes - offset_bytes, read_limit_bytes), '\0');
    auto const count = ::pread(fd.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset_bytes));
    if (count < 0) return os_error(fmt::format("read '{}'", path.string()), errno);
    bytes.resize(static_cast<std::size_t>(count));
    return bytes;
}

}  // namespace

Result<std::vector<Record>> JournalTail::read_new() {
    DET_TRY_ASSIGN(auto const bytes, read_from(path_, offset_bytes_));
    std::string_view rest = bytes;
    std::vector<Record> records;
    if (offset_bytes_ == 0) {
        if (rest.size() < header_size_bytes) return records;
        DET_TRY(check_header(rest));
        offset_bytes_ = header_size_bytes;
        rest.remove_prefix(header_size_bytes);
    }
    for (;;) {
        auto const frame = read_frame(rest);
        if (frame.state != FrameState::whole) return records;
        offset_bytes_ += frame.size_bytes;
        rest.remove_prefix(frame.size_bytes);
        DET_TRY(decoder_.decode(frame, records));
    }
}

}  // namespace det::journal
