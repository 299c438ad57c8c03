#pragma once
#include <det/journal/frame.hpp>
#include <det/protocol/record.hpp>

#include <filesystem>
#include <vector>

namespace det::journal {

/// What a journal held when it was read. Records behind a torn or damaged frame are never believed.
struct JournalContents {
    std::vector<Record> records;
    FrameState tail = FrameState::end;  // end, torn or damaged
    std::size_t good_size_bytes = 0;    // up to the last whole record
    std::size_t skipped = 0;            // records of types that this program does not know
};

/// Pure: the bytes of a whole journal.
Result<JournalContents> parse_journal(std::string_view bytes);

/// read + parse. An absent journal is an empty one: its writer has not begun.
Result<JournalContents> load_journal(std::filesystem::path const& path);

}  // namespace det::journal
