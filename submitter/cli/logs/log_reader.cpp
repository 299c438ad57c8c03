#include "logs/log_reader.hpp"

#include <det/foundation/files.hpp>
#include <det/foundation/foreign_tree.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace det::cli {
namespace {

Error cannot_read(std::filesystem::path const& path) {
    return os_error(fmt::format("read '{}'", path.string()), errno);
}

/// Opens the log. Returns nothing if the file does not exist.
Result<std::optional<UniqueFd>> open_log(std::filesystem::path const& path) {
    auto const owner = foreign_owner_of(path);
    UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | (owner ? O_NOFOLLOW : 0)));
    if (!file && errno == ENOENT) return std::optional<UniqueFd>();
    if (!file) return cannot_read(path);
    if (owner) {
        struct stat info {};
        if (::fstat(file.get(), &info) != 0) return cannot_read(path);
        DET_TRY(check_foreign_owner(info, path, *owner));
        if (!S_ISREG(info.st_mode))
            return Error{codes::not_a_file, fmt::format("'{}' is not a regular file", path.string())};
    }
    return std::optional(std::move(file));
}

constexpr std::size_t memory = std::size_t{64} << 20;
constexpr std::size_t buffer_max = std::size_t{1} << 20;
constexpr std::size_t buffer_min = std::size_t{16} << 10;  // the longest line fits

struct Source {
    NodeLog* log;
    LogReader reader;
};

/// Returns true if the line of `a` comes after the line of `b`: by time, then by node number. The order of
/// the heap, whose top is the earliest line.
bool is_later(Source const* a, Source const* b) {
    int const order = a->reader.line().time.compare(b->reader.line().time);
    return order != 0 ? order > 0 : a->log->node > b->log->node;
}

}  // namespace

LogReader::LogReader(std::filesystem::path path, std::size_t from, std::size_t buffer_size,
                     LogFilter const& filter, TornLine torn, std::size_t end)
    : path_(std::move(path)),
      buffer_size_(buffer_size),
      file_end_(end),
      filter_(filter),
      torn_(torn),
      buffer_(std::make_unique_for_overwrite<char[]>(buffer_size)),
      at_(buffer_.get()),
      end_(at_),
      buffer_at_(from) {}

Result<bool> LogReader::next() {
    for (;;) {
        auto const size = static_cast<std::size_t>(end_ - at_);
        if (auto const* newline = static_cast<char const*>(std::memchr(at_, '\n', size))) {
            if (take(newline, 1)) return true;
            continue;
        }
        if (size == buffer_size_) {  // longer than any line that det-launch writes: taken in pieces
            if (take(end_, 0)) return true;
            continue;
        }
        DET_TRY_ASSIGN(bool const more, fill());
        if (more) continue;
        if (at_ == end_ || torn_ == TornLine::leave) return false;
        return take(end_, 0);
    }
}

/// Consumes the line up to `end` and `skipped` more bytes. Returns true if the line matches the filter.
bool LogReader::take(char const* end, std::size_t skipped) {
    auto const* const begin = at_;
    line_offset_ = offset();
    at_ = end + skipped;
    if (!filter_.may_match(begin, end)) return false;
    line_ = parse_log_line({begin, static_cast<std::size_t>(end - begin)});
    return filter_.matches(line_);
}

Result<bool> LogReader::fill() {
    if (has_ended_) return false;
    auto const kept = static_cast<std::size_t>(end_ - at_);
    buffer_at_ = offset();
    std::memmove(buffer_.get(), at_, kept);
    at_ = buffer_.get();
    end_ = at_ + kept;
    DET_TRY_ASSIGN(auto const file, open_log(path_));
    auto const read_to = buffer_at_ + kept;
    auto const free_bytes = std::min(buffer_size_ - kept, file_end_ - std::min(file_end_, read_to));
    ssize_t count = 0;
    do {
        if (file && free_bytes > 0)
            count = ::pread(file->get(), buffer_.get() + kept, free_bytes, static_cast<off_t>(read_to));
    } while (count < 0 && errno == EINTR);
    if (count < 0) return cannot_read(path_);
    end_ += count;
    has_ended_ = count == 0;
    return count > 0;
}

Result<LogTail> find_tail(std::filesystem::path const& path, std::size_t from, std::size_t count,
                          LogFilter const& filter, std::size_t end) {
    constexpr std::size_t buffer_size = std::size_t{256} << 10;
    DET_TRY_ASSIGN(auto const file, open_log(path));
    if (!file) return LogTail{from, 0};
    struct stat info {};
    if (::fstat(file->get(), &info) != 0) return cannot_read(path);
    auto const size = std::max(std::min(static_cast<std::size_t>(info.st_size), end), from);
    auto const torn = count == 0 ? TornLine::leave : TornLine::show;
    // Reads the end of the file. If it has too few matching lines, reads a larger window.
    for (std::size_t window = buffer_size;; window *= 8) {
        bool const is_all = size - from <= window;
        LogReader reader(path, is_all ? from : size - window, buffer_size, filter, torn, size);
        // A window may begin within a line, so its first line is skipped. A larger window contains it whole.
        std::deque<std::size_t> begins;
        for (;;) {
            DET_TRY_ASSIGN(bool const found, reader.next());
            if (!found) break;
            if (!is_all && reader.line_offset() == size - window) continue;
            begins.push_back(reader.line_offset());
            if (begins.size() > count) begins.pop_front();
        }
        if (begins.size() == count || is_all)
            return LogTail{begins.empty() ? reader.offset() : begins.front(), begins.size()};
    }
}

Result<std::size_t> find_offset_of_time(std::filesystem::path const& path, std::string_view time) {
    constexpr std::size_t near_bytes = std::size_t{64} << 10;
    DET_TRY_ASSIGN(auto const file, open_log(path));
    if (!file) return std::size_t{0};
    struct stat info {};
    if (::fstat(file->get(), &info) != 0) return cannot_read(path);
    LogFilter const all;
    std::size_t low = 0;  // all lines before it are earlier
    auto high = static_cast<std::size_t>(info.st_size);
    while (high - low > near_bytes) {
        auto const middle = low + (high - low) / 2;
        LogReader reader(path, middle, near_bytes, all, TornLine::leave, high);
        // The reader starts in the middle of a line, so the first line that it finds is incomplete.
        DET_TRY_ASSIGN(bool has_line, reader.next());
        do {
            DET_TRY_ASSIGN(has_line, reader.next());
        } while (has_line && reader.line().time.empty());
        bool const is_earlier = has_line && reader.line().time < time;
        if (is_earlier) {
            low = reader.line_offset();
        } else {
            high = middle;
        }
    }
    LogReader reader(path, low, near_bytes, all, TornLine::leave);
    for (;;) {
        DET_TRY_ASSIGN(bool const has_line, reader.next());
        if (!has_line) return reader.offset();
        if (!reader.line().time.empty() && reader.line().time >= time) return reader.line_offset();
    }
}

Result<SinkResult> merge_node_logs(std::span<NodeLog> logs, std::uint32_t run, LogFilter const& filter,
                                   TornLine torn, LogSink const& sink) {
    auto const buffer_size =
        std::clamp(memory / std::max<std::size_t>(logs.size(), 1), buffer_min, buffer_max);
    std::vector<Source> sources;
    sources.reserve(logs.size());
    std::vector<Source*> heap;
    for (auto& log : logs) {
        auto& source =
            sources.emplace_back(Source{&log, {log.path, log.offset, buffer_size, filter, torn, log.end}});
        DET_TRY_ASSIGN(bool const has_line, source.reader.next());
        log.offset = source.reader.offset();
        if (has_line) heap.push_back(&source);
    }
    std::make_heap(heap.begin(), heap.end(), is_later);
    while (!heap.empty()) {
        std::pop_heap(heap.begin(), heap.end(), is_later);
        auto& source = *heap.back();
        auto line = source.reader.line();
        line.run = run;
        line.node = source.log->node;
        line.offset = source.reader.line_offset();
        if (sink(line) == SinkResult::stop) {
            // The next lines of the other logs were read but not passed on.
            heap.pop_back();
            for (auto* const other : heap) other->log->offset = other->reader.line_offset();
            return SinkResult::stop;
        }
        DET_TRY_ASSIGN(bool const has_line, source.reader.next());
        source.log->offset = source.reader.offset();
        if (has_line) {
            std::push_heap(heap.begin(), heap.end(), is_later);
        } else {
            heap.pop_back();
        }
    }
    return SinkResult::go_on;
}

}  // namespace det::cli
