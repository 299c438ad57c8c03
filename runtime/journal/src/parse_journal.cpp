#include <det/journal/frame.hpp>
#include <det/journal/reader.hpp>
#include <det/journal/record_decoder.hpp>

namespace det::journal {
namespace {

/// From this many damaged ranges on, the rest of the journal is one: finding the next frame costs up to
/// 64 MiB of checksums for each range, and a journal with so much damage needs a person anyway.
constexpr std::size_t damaged_ranges_max = 100;

/// Whether a file with an invalid header is a journal nevertheless: only its header is damaged.
bool has_frame_behind_header(std::string_view bytes) {
    return bytes.size() > header_size_bytes &&
           read_frame(bytes.substr(header_size_bytes)).state == FrameState::whole;
}

}  // namespace

Result<JournalContents> parse_journal(std::string_view bytes, std::string const& only_group) {
    JournalContents contents;
    // An empty file or an incomplete header: the writer has just created the file, or died right after that.
    if (bytes.size() < header_size_bytes && render_header().starts_with(bytes)) {
        contents.tail = bytes.empty() ? FrameState::end : FrameState::torn;
        return contents;
    }
    if (auto const header = check_header(bytes); !header) {
        if (header.error().code == codes::newer_format || !has_frame_behind_header(bytes))
            return header.error();
        contents.damage.push_back({0, header_size_bytes});
    }
    contents.good_size_bytes = header_size_bytes;
    RecordDecoder decoder(only_group);
    for (;;) {
        auto const frame = read_frame(bytes.substr(contents.good_size_bytes));
        if (frame.state == FrameState::end || frame.state == FrameState::torn) {
            contents.tail = frame.state;
            contents.skipped = decoder.skipped();
            return contents;
        }
        DamagedRange range{contents.good_size_bytes, frame.size_bytes};
        if (frame.state == FrameState::damaged && contents.damage.size() + 1 >= damaged_ranges_max)
            range.size_bytes = bytes.size() - contents.good_size_bytes;
        contents.good_size_bytes += range.size_bytes;
        if (frame.state == FrameState::damaged) {
            contents.damage.push_back(range);
        } else if (auto decoded = decoder.decode(frame, contents.records); !decoded) {
            // The schema of these metrics may have been among the damaged bytes.
            if (contents.damage.empty()) return std::move(decoded).error();
            contents.damage.push_back(range);
        }
    }
}

}  // namespace det::journal
