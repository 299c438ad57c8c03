#pragma once
#include <det/foundation/files.hpp>
#include <det/protocol/record.hpp>

#include <filesystem>
#include <memory>
#include <mutex>

namespace det::journal {

/// Appends records to a journal, which must have only one writer. Each record is written after the last
/// complete record, with one write(2) unless the kernel accepts only a part of it. Several threads may append
/// at the same time.
class JournalWriter {
public:
    /// Creates a new journal. Fails if the file exists, because each run has its own journal.
    static Result<JournalWriter> create(std::filesystem::path const& path);

    /// Creates a journal, or continues one after its last complete record. For programs that may be started
    /// again on the same journal.
    /// \return codes::misuse if another writer has the journal open by open(); codes::file_system if the file
    ///     system has no flock(2) and the journal exists already; codes::damaged if a record before the last
    ///     one is damaged
    static Result<JournalWriter> open(std::filesystem::path const& path);

    /// Appends a record. If the write fails, the journal is truncated to the last complete record; if that
    /// fails too, as on a file system that has become read-only, the next call truncates it first.
    /// codes::report_too_large if the payload is larger than payload_limit_bytes.
    Status append(Record const& record, Durability durability = Durability::process_crash);
    Status append(EncodedRecord const& record, Durability durability = Durability::process_crash);
    /// Makes all records survive a power loss.
    Status sync();

private:
    Status sync_locked();
    Status cut_incomplete_frame();
    static Result<JournalWriter> begin(std::filesystem::path const& path, UniqueFd file);
    JournalWriter(std::filesystem::path path, UniqueFd file)
        : path_(std::move(path)), file_(std::move(file)) {}

    std::filesystem::path path_;
    UniqueFd file_;
    std::unique_ptr<std::mutex> mutex_ = std::make_unique<std::mutex>();  // so that a writer can be moved
    std::int64_t size_bytes_ = 0;     // up to the end of the last complete record
    bool may_be_incomplete_ = false;  // the file may have part of a frame after size_bytes_
};

}  // namespace det::journal
