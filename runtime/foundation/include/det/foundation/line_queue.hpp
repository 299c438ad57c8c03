#pragma once
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace det {

/// Passes lines to a thread that writes them, so that a file system that does not answer blocks no caller of
/// append(). Lines that come while `limit_bytes` wait are left out and counted. Thread-safe.
class LineQueue {
public:
    /// Called on the thread.
    /// \param missing number of lines that were left out after `lines`
    using Write = std::function<void(std::string_view lines, std::size_t missing)>;
    static constexpr std::size_t usual_limit_bytes = std::size_t{4} << 20;

    /// \param thread_name at most 15 characters
    /// \param write must not throw
    LineQueue(char const* thread_name, Write write, std::size_t limit_bytes = usual_limit_bytes);
    LineQueue(LineQueue const&) = delete;
    LineQueue& operator=(LineQueue const&) = delete;
    /// Blocks until all lines are written.
    ~LineQueue();

    /// Queues whole lines, each with its newline. Does not wait for a write.
    void append(std::string_view lines);
    /// Blocks until all lines that were queued before are written.
    void flush();
    /// Does the same, for `limit` at most. Returns whether the lines are written.
    bool flush_for(std::chrono::milliseconds limit);

private:
    void write_lines(std::stop_token const& stop);
    bool is_written() const { return queued_.empty() && missing_ == 0 && !is_writing_; }

    Write const write_;
    std::size_t const limit_bytes_;
    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::string queued_;
    std::size_t missing_ = 0;  // lines that were left out after the queued ones
    bool is_writing_ = false;
    std::jthread thread_;  // declared last: it uses the other members
};

}  // namespace det
