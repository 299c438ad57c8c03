#pragma once
#include <det/foundation/files.hpp>
#include <det/protocol/record.hpp>

#include <filesystem>

namespace det::journal {

/// The one writer of one journal. Each record is one write(2) behind the last whole one. Not for several
/// threads.
class JournalWriter {
public:
    /// A new journal; one that is there already is an error: each run has its own.
    static Result<JournalWriter> create(std::filesystem::path const& path);

    /// After an error the journal ends behind the last whole record, as if append had not been called.
    Status append(Record const& record, Durability durability = Durability::process_crash);

private:
    JournalWriter(std::filesystem::path path, UniqueFd file)
        : path_(std::move(path)), file_(std::move(file)) {}

    std::filesystem::path path_;
    UniqueFd file_;
    std::int64_t size_bytes_ = 0;  // up to the last whole record
};

}  // namespace det::journal
