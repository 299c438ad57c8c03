#pragma once
#include <det/foundation/result.hpp>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <span>

#include "logs/log_line.hpp"

namespace det::cli {

/// What to do with a last line that has no newline yet.
enum class TornLine { leave, show };

/// Reads the lines of a log that match a filter, from an offset to `end` or the present end of the file.
/// Holds one buffer and no open file: it opens the file for each piece, because NFS revalidates on open.
/// `filter` must outlive the reader.
class LogReader {
public:
    LogReader(std::filesystem::path path, std::size_t from, std::size_t buffer_size, LogFilter const& filter,
              TornLine torn, std::size_t end = std::numeric_limits<std::size_t>::max());

    /// Moves to the next matching line, which line() returns until the next call. Returns false at the end.
    Result<bool> next();
    LogLine const& line() const { return line_; }
    /// offset(): the byte after the last line that was read. line_offset(): the first byte of line().
    std::size_t offset() const { return buffer_at_ + static_cast<std::size_t>(at_ - buffer_.get()); }
    std::size_t line_offset() const { return line_offset_; }

private:
    /// Reads more bytes into the buffer. Returns false at the end of the file.
    Result<bool> fill();
    bool take(char const* end, std::size_t skipped);

    std::filesystem::path path_;
    std::size_t buffer_size_;
    std::size_t file_end_;
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

/// The result of find_tail, which looks for the last `count` matching lines after `from` and before `end`:
/// the offset at which they begin, and their number, which is less than `count` if there are fewer. If
/// `count` is 0, the offset is the end of the last whole line, so that a torn line is read when it is
/// complete.
struct LogTail {
    std::size_t offset = 0;
    std::size_t count = 0;
};
Result<LogTail> find_tail(std::filesystem::path const& path, std::size_t from, std::size_t count,
                          LogFilter const& filter, std::size_t end = std::numeric_limits<std::size_t>::max());

/// The offset of the first line that is not earlier than `time`; the end of the last whole line if there is
/// none. The times of a log ascend.
Result<std::size_t> find_offset_of_time(std::filesystem::path const& path, std::string_view time);

/// The answer of a sink: `on` if it wants more lines.
enum class SinkResult { go_on, stop };
using LogSink = std::function<SinkResult(LogLine const& line)>;

/// A node's log and the offset up to which it has been read.
struct NodeLog {
    std::filesystem::path path;
    int node = 0;
    std::size_t offset = 0;
    std::size_t end = std::numeric_limits<std::size_t>::max();  // where reading stops
};

/// Passes the lines of a run's node logs that match `filter` to `sink`, ordered by time. Reads each log from
/// its offset to `end` or its present end and advances the offset; if the sink stops, to the end of the last
/// line that it got. Holds one buffer per log in memory.
Result<SinkResult> merge_node_logs(std::span<NodeLog> logs, std::uint32_t run, LogFilter const& filter,
                                   TornLine torn, LogSink const& sink);

}  // namespace det::cli
