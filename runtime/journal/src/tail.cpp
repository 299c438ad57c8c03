#include <det/foundation/trusted_file.hpp>
#include <det/journal/damage.hpp>
#include <det/journal/frame.hpp>
#include <det/journal/reader.hpp>
#include <det/journal/tail.hpp>

#include "read_or_look_again.hpp"

namespace det::journal {

Result<std::string> JournalTail::read_bytes() {
    if (file_) {
        auto bytes = read_journal_bytes(file_, path_, offset_bytes_);
        if (bytes) return bytes;
        close_file();  // an NFS server may have forgotten an open file (ESTALE)
    }
    auto opened = read_or_look_again(path_, [&] { return open_trusted_file(path_); });
    if (!opened && opened.error().code == codes::no_such_file) return std::string();
    if (!opened) return std::move(opened).error();
    file_ = *std::move(opened);
    return read_journal_bytes(file_, path_, offset_bytes_);
}

Result<std::vector<Record>> JournalTail::read_new() {
    DET_TRY_ASSIGN(auto const bytes, read_bytes());
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
        bool const is_at_end = frame.size_bytes == rest.size();
        if (frame.state == FrameState::damaged && records.empty() && !is_at_end) {
            DamagedJournal const damaged{path_, {{offset_bytes_, frame.size_bytes}}};
            if (!is_damage_accepted(damaged)) return journal_damaged_error(damaged);
            offset_bytes_ += frame.size_bytes;
            rest.remove_prefix(frame.size_bytes);
            continue;
        }
        if (frame.state != FrameState::whole) return records;
        auto const count = records.size();
        auto decoded = decoder_.decode(frame, records);
        DamagedJournal const range{path_, {{offset_bytes_, frame.size_bytes}}};
        if (!decoded && is_damage_accepted(range)) decoded = Ok{};  // it needs a record that is missing
        if (!decoded && count > 0) {
            records.erase(records.begin() + static_cast<std::ptrdiff_t>(count), records.end());
            return records;  // the next call returns the error
        }
        offset_bytes_ += frame.size_bytes;
        rest.remove_prefix(frame.size_bytes);
        DET_TRY(decoded);
    }
}

}  // namespace det::journal
