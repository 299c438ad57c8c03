#include <det/foundation/files.hpp>
#include <det/journal/reader.hpp>

#include <fmt/format.h>

namespace det::journal {

Result<JournalContents> parse_journal(std::string_view bytes) {
    JournalContents contents;
    // An empty file or an incomplete header: the writer has just created the file, or died right after that.
    if (bytes.size() < header_size_bytes && render_header().starts_with(bytes)) {
        contents.tail = bytes.empty() ? FrameState::end : FrameState::torn;
        return contents;
    }
    DET_TRY(check_header(bytes));
    contents.good_size_bytes = header_size_bytes;
    for (;;) {
        auto const frame = read_frame(bytes.substr(contents.good_size_bytes));
        if (frame.state != FrameState::whole) {
            contents.tail = frame.state;
            return contents;
        }
        DET_TRY_ASSIGN(auto record, decode_record(frame.type, frame.payload));
        if (record) {
            contents.records.push_back(*std::move(record));
        } else {
            ++contents.skipped;
        }
        contents.good_size_bytes += frame.size_bytes;
    }
}

Result<JournalContents> load_journal(std::filesystem::path const& path) {
    constexpr std::size_t journal_limit_bytes = std::size_t{1} << 30;
    auto bytes = read_file(path, journal_limit_bytes);
    if (!bytes && bytes.error().code == codes::no_such_file) return JournalContents{};
    if (!bytes) return std::move(bytes).error();
    auto contents = parse_journal(*bytes);
    if (!contents) return std::move(contents).error().while_doing(fmt::format("reading '{}'", path.string()));
    return contents;
}

}  // namespace det::journal
