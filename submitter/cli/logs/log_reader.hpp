#pragma once
#include <det/foundation/result.hpp>

#include <cstddef>
#include <filesystem>
#include <memory>

#include "logs/log_filter.hpp"

namespace det::cli {

/// A last line that has no newline yet.
enum class TornLine { leave, show };

/// Reads the lines of one log that a filter lets pass, from a place in it to where it ends now. Holds one
/// buffer and no open file: each piece is read from a file opened anew, which is also how NFS shows what is
/// new.
class LogReader {
public:
    LogReader(std::filesystem::path path, std::size_t from, std::size_t buffer_size, LogFilter const& filter,
              TornLine torn);

    /// The next line that passes is in line(), until the next call. False at the end.
    Result<bool> next();
    LogLine const& line() const { return line_; }
    /// Behind the last line that was looked at; where line() begins.
    std::size_t offset() const { return buffer_at_ + static_cast<std::size_t>(at_ - buffer_.get()); }
    std::size_t line_offset() const { return line_offset_; }

private:
    /// False where there is nothing more in the file.
    Result<bool> fill();
    bool take(char const* end, std::size_t skipped);

    std::filesystem::path path_;
    std::size_t buffer_size_;
    LogFilter const& filter_;
    TornLine torn_;
    std::unique_ptr<char[]> buffer_;
    char const* at_;
    char const* end_;
    std::size_t buffer_at_;  // in the file
    std::size_t line_offset_ = 0;
    bool has_ended_ = false;
    LogLine line_;
};

/// Where the last `count` lines that pass begin, not before `from`; and how many there are, where it is
/// fewer.
struct LogTail {
    std::size_t offset = 0;
    std::size_t count = 0;
};
Result<LogTail> find_tail(std::filesystem::path const& path, std::size_t from, std::size_t count,
                          LogFilter const& filter);

}  // namespace det::cli
